/**
 * Owns: how a machine's actor reaches the world. Does not own: order, time, records (the journal's).
 *
 * I1 A leaf opens exactly one effect when it starts and closes it when it is stopped before it settled.
 * I2 It settles by an ordinary synchronous event, so the machine is stable when the delivery returns.
 * I3 What it yields, success or failure, is JSON.
 * I4 Without a host (a bare machine in a caller's own actor system) it performs directly and records nothing.
 */
import type { ActorLogic, ActorRef, AnyActorRef, EventObject, PromiseActorLogic, Snapshot } from 'xstate';
import { type Json, deepFreeze, isJsonObject } from '../json/json.ts';
import type { Effects } from '../tools/spec.ts';
import { digest } from '../json/digest.ts';
import { NO_REDACTOR, effectKey, noteIn, performDirectly, runName, unknownOutcome } from './journal.ts';
import type { Effect, LeafError, Outcome, Perform, PerformIo, Redactor } from './journal.ts';
import { describeThrown, toJson } from '../json/to-json.ts';

/** What a leaf's function gets besides its input. */
export interface LeafIo extends PerformIo {
  /** Actor path and ordinal of the effect. */
  readonly id: string;
  /** The value given to `run(input, { context })`; undefined without a run. */
  readonly context: unknown;
  /** The trace that the run belongs to, as its caller gave it. */
  readonly traceparent?: string;
}

/** Where effects go when a run drives the machines. */
export interface LeafHost {
  readonly context: unknown;
  readonly traceparent?: string;
  /** Implementations that replace, in this run, those that the leaves of these names were made with. */
  readonly work: LeafWork;
  /** Keeps secrets out of the machine: leaves get them, their outcomes lose them. */
  readonly redactor: Redactor;
  /** The effects of the leaves that have not settled, by their ids. */
  readonly started: Map<AnyActorRef, string>;
  open(effect: Effect, perform: Perform, settle: (out: Outcome) => void): void;
  close(id: string): void;
  /** Counts the effects of one actor path. */
  ordinal(path: string): number;
}

/** What a leaf understands: its outcome, and being stopped. */
type LeafEvent = { readonly type: 'leaf.settled'; readonly out: Outcome } | { readonly type: 'xstate.stop' };

/**
 * The snapshot of a leaf: its input, and then its output or a {@link LeafError}. A persisted one has the name of its run,
 * and so has what is restored from it.
 */
type LeafSnapshot<TInput, TOutput> = Snapshot<TOutput> & {
  readonly input: TInput;
  readonly of?: string;
  readonly [SELF]?: AnyActorRef;
};

/** The actor logic of a leaf, to be invoked or provided by a machine. To XState's types it is a promise, so `fromPromise` can stand in for it. */
export type LeafLogic<TInput, TOutput> = PromiseActorLogic<TOutput, TInput>;

interface LeafOptions<TInput> {
  readonly effects: Effects | ((input: TInput) => Effects);
  /** What a replay compares and the idempotency key is made of; the whole input unless given. */
  readonly request?: (input: TInput) => unknown;
  /** The work's result is already its own JSON, so it is not copied again. */
  readonly yieldsJson?: boolean;
  /** The work gets marks in the place of secrets, as the machine has them; for work that passes its input on to a model. */
  readonly keepsMarks?: boolean | ((input: TInput) => boolean);
}

/**
 * What the leaf of a name does. A run brings its own: so all runs share one definition of each machine, and an agent
 * costs no copy of them.
 */
export type LeafWork = (name: string) => LeafFunction | undefined;

export type LeafFunction = (input: never, io: LeafIo) => unknown;

// Properties of the objects themselves: what a WeakMap refers to, such as an agent and its run, lives until a full collection.
const HOST = Symbol('host');
const WORK = Symbol('work');
const SELF = Symbol('self');
/** What the machines of a run have. */
export const OURS = Symbol('ours');

const NEW = { status: 'active', output: undefined, error: undefined } as const;

/** What leaves without a host stop by. */
const direct = new WeakMap<AnyActorRef, () => void>();

/** Binds a run to the actor system that it drives. Must be called before the root actor starts. */
export function attachHost(system: object, host: LeafHost): void {
  Object.defineProperty(system, HOST, { value: host });
}

function hostOf(system: object): LeafHost | undefined {
  return (system as { readonly [HOST]?: LeafHost })[HOST];
}

/** What a leaf does, for the host of a run. */
export function workOf(logic: object): LeafFunction | undefined {
  return (logic as { readonly [WORK]?: LeafFunction })[WORK];
}

/** Leaves do what they were made with. */
export const NO_WORK: LeafWork = () => undefined;

/**
 * Makes the actor logic of one kind of work. `execute` may throw: what is thrown becomes a {@link LeafError} with the
 * error's own string `code`, or `error`. `retryable`, `status` and the like travel in the error's `data`.
 *
 * @example const readFile = leaf('readFile', 'none', (input: { path: string }) => fs.readFile(input.path, 'utf8'));
 */
export function leaf<TInput, TOutput>(
  name: string,
  options: Effects | LeafOptions<TInput>,
  execute: (input: TInput, io: LeafIo) => TOutput | Promise<TOutput>,
): LeafLogic<TInput, TOutput> {
  const {
    effects,
    request = (input: TInput) => input,
    keepsMarks = false,
    yieldsJson = false,
  }: LeafOptions<TInput> = typeof options === 'string' ? { effects: options } : options;
  const logic: ActorLogic<LeafSnapshot<TInput, TOutput>, LeafEvent, TInput> = {
    config: { leaf: name },
    getInitialSnapshot: ({ self }, input) => ({ ...NEW, input, [SELF]: self }),
    getPersistedSnapshot: ({ [SELF]: self, ...kept }) =>
      self === undefined ? kept : { ...kept, of: runName(runOf(self)) },
    start: (snapshot, { self, system }) => {
      const input = deepFreeze(snapshot.input);
      const asked = deepFreeze(request(input)) as Json;
      const host = hostOf(system);
      const path = actorPath(self);
      const effect = new LeafEffect(path, host?.ordinal(path) ?? 1, {
        name,
        effects: typeof effects === 'function' ? effects(input) : effects,
        request: asked,
      });
      const work = (host?.work(name) as typeof execute | undefined) ?? execute;
      const redactor = host?.redactor ?? NO_REDACTOR;
      const keeps = typeof keepsMarks === 'function' ? keepsMarks(input) : keepsMarks;
      const perform: Perform = async (io) => {
        let out: Outcome;
        try {
          const given = keeps ? input : revealed(redactor, name, input);
          out = outcomeOf(await work(given, new RunIo(io, host, effect.id)), yieldsJson);
        } catch (thrown) {
          out = { ok: false, error: toLeafError(thrown) };
        }
        // What the work has caused, such as news of a tool, comes before its end.
        await Promise.resolve();
        return redactor.redact(out);
      };
      const settle = (out: Outcome): void => self.send({ type: 'leaf.settled', out });
      if (host === undefined) {
        const run = runOf(self);
        runName(run, snapshot.of);
        const lost: Perform = async () => unknownOutcome(effect);
        const isRestored = snapshot.of !== undefined;
        const own = { effect, perform: isRestored && effect.effects === 'once' ? lost : perform, settle };
        return void direct.set(self, performDirectly(run, own));
      }
      host.started.set(self, effect.id);
      host.open(effect, perform, settle);
    },
    transition: (snapshot, event, { self, system }) => {
      const host = hostOf(system);
      if (event.type === 'leaf.settled') {
        host?.started.delete(self);
        if (snapshot.status !== 'active') return snapshot;
        return event.out.ok
          ? { ...snapshot, status: 'done', output: event.out.value as TOutput, error: undefined }
          : { ...snapshot, status: 'error', output: undefined, error: event.out.error };
      }
      if (event.type === 'xstate.stop') {
        const open = host?.started.get(self);
        host?.started.delete(self);
        if (open !== undefined) host?.close(open);
        else direct.get(self)?.();
        return { ...snapshot, status: 'stopped', output: undefined, error: undefined };
      }
      return snapshot;
    },
  };
  return Object.defineProperty(logic, WORK, { value: execute }) as unknown as LeafLogic<TInput, TOutput>;
}

/** A leaf's request to the outside. Its digest is computed on first use: a run that is not kept never uses it. */
class LeafEffect implements Effect {
  readonly id: string;
  readonly name: string;
  readonly effects: Effects;
  readonly request: Json;
  #digest: string | undefined;

  constructor(path: string, ordinal: number, { name, effects, request }: Pick<Effect, 'name' | 'effects' | 'request'>) {
    this.id = `${path}#${ordinal}`;
    this.name = name;
    this.effects = effects;
    this.request = request;
  }

  get digest(): string {
    return (this.#digest ??= digest(this.request));
  }

  get key(): string {
    return effectKey(this.id, this.digest);
  }
}

/** What a leaf's function gets, with what the caller of the run gave. */
class RunIo implements LeafIo {
  readonly signal: AbortSignal;
  readonly note: PerformIo['note'];
  readonly id: string;
  readonly context: unknown;
  readonly traceparent?: string;
  readonly #io: PerformIo;

  constructor(io: PerformIo, host: LeafHost | undefined, id: string) {
    this.signal = io.signal;
    this.note = noteIn(io);
    this.#io = io;
    this.id = id;
    this.context = host?.context;
    if (host?.traceparent !== undefined) this.traceparent = host.traceparent;
  }

  get idempotencyKey(): string {
    return this.#io.idempotencyKey;
  }
}

/** The input with its secrets; a mark that cannot be resolved is never passed on. */
function revealed<T>(redactor: Redactor, name: string, input: T): T {
  const lost = redactor.lostMark(input);
  if (lost === null) return redactor.restore(input);
  const text = `${name} was not run: the secret behind ${lost} is not known any more. Give it again, in the conversation.`;
  throw Object.assign(new Error(text), { code: 'secret-lost' });
}

function outcomeOf(value: unknown, isJson: boolean): Outcome {
  const json = isJson ? { ok: true as const, value: value as Json } : toJson(value);
  if (json.ok) return json;
  return { ok: false, error: { code: 'not-json', message: `The result is not usable: ${json.reason}.` } };
}

function toLeafError(thrown: unknown): LeafError {
  const { name, message, code } = describeThrown(thrown);
  const data = toJson(typeof thrown === 'object' && thrown !== null ? (Reflect.get(thrown, 'data') ?? {}) : {});
  const given = data.ok && isJsonObject(data.value) ? data.value : {};
  return { code: code ?? 'error', message, data: { name, ...given } };
}

/** The outermost of the machines that a leaf works for, which is a run; where none is ours, the actor system. */
function runOf(self: AnyActorRef): object {
  let run: object = self.system;
  for (let at: AnyActorRef | undefined = self; at !== undefined; at = Reflect.get(at, '_parent') as typeof at)
    if (OURS in Object(Reflect.get(at, 'logic'))) run = at;
  return run;
}

/** The ids from the root actor down to this one, joined with `/`. */
export function actorPath(actor: AnyActorRef): string {
  const parent = (actor as AnyActorRef & { readonly _parent?: AnyActorRef })._parent;
  return parent === undefined ? inPath(actor.id) : `${actorPath(parent)}/${inPath(actor.id)}`;
}

/** An actor's id as it stands in paths, where a slash would be another level. */
export function inPath(id: string): string {
  return id.replaceAll('/', '∕');
}

/** Reads what failed out of a machine's error event, whatever it holds. */
export function leafErrorOf(event: unknown): LeafError {
  const error: unknown = typeof event === 'object' && event !== null ? Reflect.get(event, 'error') : undefined;
  if (isJsonObject(error) && typeof error.code === 'string' && typeof error.message === 'string') {
    const { code, message, data } = error;
    return data === undefined ? { code, message } : { code, message, data };
  }
  return toLeafError(error);
}

/** The actor at a path below `root`, the root's own id first; undefined if there is none now. */
export function findActor(root: ActorRef<Snapshot<unknown>, EventObject>, path: string): AnyActorRef | undefined {
  const [own, ...rest] = path.split('/');
  if (own !== inPath(root.id)) return undefined;
  let actor: AnyActorRef | undefined = root as AnyActorRef;
  for (const part of rest) {
    const children: Readonly<Record<string, AnyActorRef | undefined>> =
      Reflect.get(actor?.getSnapshot() ?? {}, 'children') ?? {};
    actor = Object.values(children).find((child) => child !== undefined && inPath(child.id) === part);
  }
  return actor;
}
