/**
 * Owns: that no server outlives its host, however the host ends. Does not own: how one process is ended.
 *
 * I1 Listeners exist only while a process runs.
 * I2 The host ends as it would have: with its own listener for a signal we leave the decision to it; without one we end
 *    the processes and raise the signal again. No listener for uncaught errors is ever installed.
 * I3 On `exit`, however it came about, what still runs is killed at once.
 */

/** A process that must not outlive the host. */
export interface Guarded {
  /** Asks it to end. */
  terminate(): void;
  /** Ends it now. Must work synchronously. */
  kill(): void;
  isRunning(): boolean;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const GRACE_MS = 800;
const POLL_MS = 20;

const running = new Set<Guarded>();
let raising = false;

/** Guards a process until the returned function is called. */
export function guardProcess(guarded: Guarded): () => void {
  if (running.size === 0) listen();
  running.add(guarded);
  return () => {
    if (running.delete(guarded) && running.size === 0) unlisten();
  };
}

function listen(): void {
  process.on('exit', killAll);
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

function unlisten(): void {
  process.off('exit', killAll);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function killAll(): void {
  for (const guarded of running) guarded.kill();
}

function onSignal(signal: NodeJS.Signals): void {
  const hostDecides = process.listenerCount(signal) - 1 - countPassiveListeners() > 0;
  if (hostDecides) return;
  if (raising) return raise(signal);
  raising = true;
  for (const guarded of running) guarded.terminate();
  waitForAll(signal, Math.ceil(GRACE_MS / POLL_MS));
}

function waitForAll(signal: NodeJS.Signals, polls: number): void {
  if (polls === 0 || ![...running].some((guarded) => guarded.isRunning())) return raise(signal);
  setTimeout(() => waitForAll(signal, polls - 1), POLL_MS);
}

function raise(signal: NodeJS.Signals): void {
  killAll();
  running.clear();
  unlisten();
  process.kill(process.pid, signal);
}

/**
 * The listeners of the widespread package signal-exit, which wait to be the last ones and then raise the signal themselves.
 * Were they taken for the host's own, each would wait for the other and the host would survive its signal.
 */
function countPassiveListeners(): number {
  const emitters: unknown[] = [
    Reflect.get(globalThis, Symbol.for('signal-exit emitter')),
    Reflect.get(process, '__signal_exit_emitter__'),
  ];
  return emitters.reduce<number>((sum, emitter) => {
    const count: unknown = typeof emitter === 'object' && emitter !== null ? Reflect.get(emitter, 'count') : 0;
    return sum + (typeof count === 'number' ? count : 0);
  }, 0);
}
