/**
 * A text that is shown while it grows. White space and special tokens at its end wait until something follows: at the
 * very end of a message they are no part of it.
 */
export class GrowingText {
  text = '';
  private waiting: string[] = [];

  write(piece: string): void {
    const visible = piece.trimEnd();
    if (visible === '') return this.wait(piece);
    const whole = this.waiting.length === 0 ? visible : this.waiting.join('') + visible;
    this.text += this.text === '' ? whole.trimStart() : whole;
    this.waiting = visible.length < piece.length ? [piece.slice(visible.length)] : [];
  }

  /** Takes what belongs to the text only if more of it follows. */
  wait(piece: string): void {
    if (piece !== '') this.waiting.push(piece);
  }

  clear(): void {
    this.text = '';
    this.waiting = [];
  }
}
