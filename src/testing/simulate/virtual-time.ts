import { AsyncLocalStorage } from 'node:async_hooks';
import type { Drawn } from './draws.ts';

/** A timer that is set. */
export interface PendingTimer {
  readonly due: number;
  readonly ms: number;
  /** Whether a process would wait for it. */
  readonly isRef: boolean;
}

interface Timer {
  readonly due: number;
  readonly ms: number;
  readonly handle: Handle;
  readonly fire: () => void;
}

/** What a program holds of a timer; that of an interval has the number of its next round. */
class Handle {
  number = 0;
  isRef = true;

  ref(): this {
    this.isRef = true;
    return this;
  }

  unref(): this {
    this.isRef = false;
    return this;
  }

  hasRef(): boolean {
    return this.isRef;
  }

  refresh(): this {
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.number;
  }
}

/** When every run begins. */
const BEGINNING = Date.UTC(2026, 0, 1);

const real = {
  setTimeout: globalThis.setTimeout,
  setImmediate: globalThis.setImmediate,
  now: performance.now.bind(performance),
};

/** Waits until everything that can happen by itself has happened: all promises, and one turn of the event loop. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    real.setImmediate(() => resolve());
  });
}

/** Waits in real time. */
export function reallyWait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    real.setTimeout(resolve, ms);
  });
}

/** Milliseconds of real time. */
export function realNow(): number {
  return real.now();
}

/**
 * Owns: what the process takes for time and chance while a simulation runs: global timers, `Date`, `performance.now`,
 * `Math.random`, random ids. Does not own: when time passes (the simulated run says so).
 *
 * I1 Nothing fires by itself: time stands still until `fireNext`.
 * I2 Timers fire in the order of being due; those that are due together in the order in which they were set.
 * I3 After `restore` everything is as it was.
 * I4 What else lives in the process, such as a server, has real time and chance, and changes nothing in a run.
 */
export class VirtualTime {
  #now = 0;
  #wall = BEGINNING;
  #count = 0;
  #random = Math.random;
  readonly #timers = new Map<number, Timer>();
  /** Knows what the simulation began. Before Node 24 it slows every promise down, so everything counts as begun there. */
  readonly #begun = Number.parseInt(process.versions.node, 10) < 24 ? null : new AsyncLocalStorage<true>();
  readonly #undone: readonly (() => void)[];

  constructor() {
    this.#undone = [...this.#replaceTimers(), ...this.#replaceClocks(), ...this.#replaceChance()];
  }

  /** Runs the simulation: time is virtual in all that it begins. */
  within<T>(run: () => T): T {
    return this.#begun === null ? run() : this.#begun.run(true, run);
  }

  #isOutside = (): boolean => this.#begun !== null && this.#begun.getStore() !== true;

  /** Begins a run: no timers, the same moment, chance from this source. */
  reset(source: () => number): void {
    [this.#now, this.#wall, this.#count, this.#random] = [0, BEGINNING, 0, source];
    this.#timers.clear();
  }

  /** Drops all timers: the process that has set them is gone. */
  forget(): void {
    this.#timers.clear();
  }

  /** Moves to the next timer and fires it; false when there is none. */
  fireNext(): boolean {
    const [number, timer] = this.#earliest() ?? [];
    if (number === undefined || timer === undefined) return false;
    this.#timers.delete(number);
    this.#now = Math.max(this.#now, timer.due);
    try {
      timer.fire();
    } catch (error) {
      // As where Node fires it: nobody waits for it who could catch that.
      queueMicrotask(() => {
        throw error;
      });
    }
    return true;
  }

  /** The timers that are set, with how long each was set for. */
  get pending(): readonly PendingTimer[] {
    return Array.from(this.#timers.values(), ({ due, ms, handle: { isRef } }) => ({ due, ms, isRef }));
  }

  /** How many there are. */
  get count(): number {
    return this.#timers.size;
  }

  /** Lets time pass without firing anything: what has become due fires next. */
  pass(ms: number): void {
    this.#now += ms;
  }

  /** Sets the clock on the wall forwards or backwards; timers do not notice. */
  setWall(ms: number): void {
    this.#wall += ms;
  }

  restore(): void {
    for (const undo of this.#undone) undo();
  }

  #set(fire: () => void, ms: number, handle = new Handle()): Handle {
    const delay = ms >= 0 ? ms : 0;
    handle.number = ++this.#count;
    this.#timers.set(handle.number, { due: this.#now + delay, ms: delay, handle, fire });
    return handle;
  }

  #earliest(): readonly [number, Timer] | undefined {
    let first: readonly [number, Timer] | undefined;
    for (const entry of this.#timers) if (first === undefined || entry[1].due < first[1].due) first = entry;
    return first;
  }

  #replaceTimers(): readonly (() => void)[] {
    const before = globalThis.clearTimeout;
    const clear = (handle: unknown): void => {
      const number: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'number') : handle;
      if (typeof number === 'number') this.#timers.delete(number);
      // It may have been set before the simulation.
      else if (handle instanceof Object) Reflect.apply(before, undefined, [handle]);
    };
    return [
      this.#virtualize(globalThis, 'setTimeout', (fire: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
        this.#set(() => fire(...args), ms),
      ),
      this.#virtualize(globalThis, 'setInterval', (fire: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
        const handle = new Handle();
        const tick = (): void => {
          arm();
          fire(...args);
        };
        const arm = (): Handle => this.#set(tick, Math.max(1, ms), handle);
        return arm();
      }),
      replaced(globalThis, 'clearTimeout', clear),
      replaced(globalThis, 'clearInterval', clear),
    ];
  }

  #replaceClocks({ now } = Date): readonly (() => void)[] {
    const today = (): number => (this.#isOutside() ? now() : Math.round(this.#wall + this.#now));
    const virtualDate = new Proxy(Date, {
      construct: (target, given: readonly unknown[], made) =>
        Reflect.construct(target, given.length === 0 ? [today()] : given, made),
      apply: () => new Date(today()).toString(),
      get: (target, key): unknown => (key === 'now' ? today : Reflect.get(target, key)),
    });
    return [replaced(globalThis, 'Date', virtualDate), this.#virtualize(performance, 'now', () => this.#now)];
  }

  #replaceChance(): readonly (() => void)[] {
    const digit = (below: number): number => Math.floor(this.#random() * below);
    const bytes = <T extends ArrayBufferView>(array: T): T => {
      const all = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      return (all.set(all.map(() => digit(256))), array);
    };
    return [
      this.#virtualize(Math, 'random', () => this.#random()),
      this.#virtualize(crypto, 'getRandomValues', bytes),
      this.#virtualize(crypto, 'randomUUID', () => {
        const hex = Array.from({ length: 32 }, () => digit(16).toString(16)).join('');
        return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
      }),
    ];
  }

  /** Replaces a function for what the simulation began; gives back how to undo it. */
  #virtualize(owner: object, name: string, virtual: (...args: never[]) => unknown): () => void {
    const before: unknown = Reflect.get(owner, name);
    return replaced(owner, name, (...args: readonly unknown[]): unknown =>
      Reflect.apply(this.#isOutside() && typeof before === 'function' ? before : virtual, owner, args),
    );
  }
}

/** Replaces a member of an object; gives back how to undo it. */
function replaced(owner: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, {
    value,
    configurable: true,
    writable: true,
    enumerable: before?.enumerable ?? true,
  });
  return () => {
    if (before === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, before);
  };
}

/** The process ends, or lets go of the run. */
const DIED = /^process|^journal\.(full|io|short|lock)|^outside\.(release|park)/;
/** A tool does not end its work, whatever the run does. */
const UNFINISHED = /^tool\.(slow|stall|late|lost)|^outside\./;
/** What puts itself off again and again is left. */
const MOST_ROUNDS = 10;

/** Whether a run was interrupted. */
export function hasDied(drawn: readonly Drawn[]): boolean {
  return drawn.some(({ kind }) => DIED.test(kind));
}

/** What a run has left behind, seen from before it. */
export class Leftovers {
  readonly #time: VirtualTime;
  readonly #before = outlasting();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /**
   * What still keeps the process alive, or listens to it, when a run has ended for a reason; null for nothing. Where a
   * function was stopped in its work, or a process ended, something is always left.
   */
  async left(reason: string, drawn: readonly Drawn[]): Promise<string | null> {
    await this.#finishTurn();
    if (hasDied(drawn) || reason === 'cancelled' || reason === 'timeout') return null;
    if (drawn.some(({ kind }) => UNFINISHED.test(kind))) return null;
    const timer = this.#time.pending.find(({ isRef }) => isRef);
    if (timer !== undefined) return `a timer of ${timer.ms} ms is still set when the run is over`;
    const now = outlasting();
    if (now.listeners > this.#before.listeners) return 'the process has more listeners than before the run';
    return now.processes > this.#before.processes
      ? 'a process that was started is still there when the run is over'
      : null;
  }

  /** What is put off to the next turn of the event loop comes yet. */
  async #finishTurn(): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS && this.#time.pending.some(({ ms }) => ms === 0); round++) {
      this.#time.fireNext();
      await settled();
    }
  }
}

/** What the process has that outlasts a run. */
function outlasting(): { readonly listeners: number; readonly processes: number } {
  return {
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    processes: process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length,
  };
}
