/**
 * Owns: that what every machine of this process does passes through here, in actors and where a machine is stepped by hand. It
 * hooks between XState and its machines, which is why it belongs in tests only.
 *
 * I1 A machine binds its methods when it is made: nothing that makes one is loaded before this, so it imports nothing of ours.
 */
import { StateMachine } from 'xstate';

/** What is told of each step of a machine. */
interface Watcher {
  /** Before the step: the scope of its actor. */
  before(scope: unknown): void;
  /** After the step: the machine's snapshot. */
  after(snapshot: unknown): void;
}

let watcher: Watcher | null = null;

/** From now on it is told of each step. */
export function watchMachines(by: Watcher): void {
  watcher = by;
}

/** Lets a method of all machines pass through us; its argument at `scopeAt` is the scope of the actor. */
function wrap(method: 'transition' | 'getInitialSnapshot', scopeAt: number): void {
  const original: unknown = Reflect.get(StateMachine.prototype, method);
  if (typeof original !== 'function') return;
  Reflect.set(StateMachine.prototype, method, function watching(this: unknown, ...args: unknown[]): unknown {
    watcher?.before(args[scopeAt]);
    const snapshot: unknown = Reflect.apply(original, this, args);
    watcher?.after(snapshot);
    return snapshot;
  });
}

wrap('transition', 2);
wrap('getInitialSnapshot', 0);
