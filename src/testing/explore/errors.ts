/** An exploration cannot be made, or cannot say what was asked. */
export class ExplorationError extends Error {
  override readonly name = 'ExplorationError';
  /** `not-a-leaf`: an actor of the machine is beyond control. `not-exhaustive`: the bounds came first. `endless`: the machine moves on and on. */
  readonly code: 'not-a-leaf' | 'not-exhaustive' | 'endless';

  constructor(code: ExplorationError['code'], message: string) {
    super(message);
    this.code = code;
  }
}
