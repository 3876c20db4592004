/**
 * A text that is shown while it grows. White space and special tokens at its end wait until something follows: at the
 * very end of a message they are no part of it.
 */
export class GrowingText {
  text = '';
  private first = '';
  private waiting: string[] = [];

  /** True while nothing but white space was written. */
  get isBlank(): boolean {
    return this.text === '' && this.waiting.every((piece) => piece.trim() === '');
  }

  /** True when the text begins as JSON does. */
  get opensJson(): boolean {
    return this.first === '{' || this.first === '[' || this.first === '"';
  }

  write(piece: string): void {
    const visible = piece.trimEnd();
    if (visible === '') return this.wait(piece);
    const whole = this.waiting.length === 0 ? visible : this.waiting.join('') + visible;
    const added = this.text === '' ? whole.trimStart() : whole;
    if (this.text === '') this.first = added.charAt(0);
    this.text += added;
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
