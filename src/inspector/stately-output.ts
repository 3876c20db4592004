/**
 * Owns: reporting to Stately's tools what runs and actors do. Does not own: their protocol, and how it travels: both are theirs.
 *
 * I1 What is sent is plain JSON with marks for secrets.
 * I2 What listens, or does not, cannot break what is watched.
 * I3 What is too long for a message is left out of it, with its length: a server may end the connection for one.
 */
import { type AnyActorRef, type InspectionEvent, type Observer, isMachineSnapshot } from 'xstate';
import { OwnRedactor } from '../actors/redactor.ts';
import type { Microstep } from '../machines/events/transition-log.ts';
import { optionsOf } from '../json/known-options.ts';
import { isActor, isEventless, rootOf } from './frames/actors.ts';
import type { RunPort, WatchedActor } from './frames/run-port.ts';
import type { createInspector } from '@statelyai/inspect';
import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import { displayJson, displayObject } from './frames/display-json.ts';

/** Where events go: an inspector of `@statelyai/inspect`, of any kind. */
export interface StatelyTarget {
  readonly adapter: { send(event: object): void };
}

/** Where Stately's tools are. */
export interface StatelyOutputOptions {
  /** The WebSocket server to send to, such as Stately's. Default `ws://localhost:8080`. */
  readonly url?: string | undefined;
  /** An inspector of `@statelyai/inspect` of your own to send through instead; you stop it yourself. */
  readonly to?: StatelyTarget | undefined;
}

const checkOptions = optionsOf<StatelyOutputOptions>('statelyOutput', 'docs/inspector.md', { url: true, to: true });

/** Sends what happens to Stately's tools. Hand it to agents as their option `inspect`. */
export interface StatelyOutput extends RunPort {
  attachActor(watched: WatchedActor): () => void;
  /** An observer for `createActor(machine, { inspect: output.inspect })`. */
  readonly inspect: Observer<InspectionEvent> & ((inspected: InspectionEvent) => void);
  /** Sends nothing more, and closes the connection that it opened. */
  close(): void;
  [Symbol.dispose](): void;
}

/**
 * Makes an output that sends inspection to Stately's tools through the package `@statelyai/inspect`, which you install
 * yourself. Rejects with a {@link MissingPackageError} (code `package-missing`) when it is not there.
 *
 * @example
 * const output = await statelyOutput({ url: 'ws://localhost:8080' });
 * const agent = createAgent({ inspect: output });
 */
export async function statelyOutput(options: StatelyOutputOptions = {}): Promise<StatelyOutput> {
  checkOptions(options);
  const { url, to } = options;
  const stately = await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ '@statelyai/inspect').catch(
    (error: unknown) => {
      throw isNotFound(error) ? new MissingPackageError('@statelyai/inspect', 'statelyOutput()', error) : error;
    },
  );
  const own = to === undefined ? stately.createWebSocketInspector({ url: url ?? 'ws://localhost:8080' }) : null;
  const target: StatelyTarget = to ?? own ?? { adapter: { send: () => undefined } };
  const redactions = new Set<WatchedActor['redact']>([new OwnRedactor().redact]);
  let closed = false;

  const reporter = statelyReporter(stately.createInspector, (event) => {
    let sent = event;
    for (const redact of redactions) sent = redact(sent);
    target.adapter.send(Object(shortened(sent, MOST_CHARACTERS)));
  });
  const report = (actor: object, what: Reported): void => {
    if (closed) return;
    try {
      if (isActor(actor)) reporter(actor, what);
    } catch {
      // I2.
    }
  };
  const inspect = (inspected: InspectionEvent): void => {
    const { type, actorRef } = inspected;
    if (type === '@xstate.event') {
      const { event, sourceRef } = inspected;
      report(actorRef, { type: 'event', event, source: sourceRef?.sessionId });
    }
    if (type === '@xstate.snapshot') {
      const { event, snapshot } = inspected;
      report(actorRef, { type: 'snapshot', event, snapshot });
    }
  };
  const output: StatelyOutput = {
    inspect: Object.assign(inspect, { next: inspect }),
    needsMicrosteps: true,
    attach: (run) => {
      const onMicrostep = ({ actor, event, snapshot, taken }: Microstep): void => {
        if (!isEventless(taken)) report(actor, { type: 'event', event, source: undefined });
        report(actor, { type: 'snapshot', event, snapshot });
        const children: { readonly [id: string]: AnyActorRef | undefined } = snapshot.children;
        for (const child of Object.values(children)) if (child !== undefined) report(child, { type: 'met' });
      };
      run.watch({ onLine: () => undefined, onUnrecorded: () => undefined, onMicrostep });
      return { ended: () => run.watch(null) };
    },
    attachActor: ({ actor, redact }) => {
      redactions.add(redact);
      report(actor, { type: 'met' });
      const { unsubscribe } = actor.system.inspect(inspect);
      return unsubscribe;
    },
    close: () => {
      if (closed) return;
      closed = true;
      own?.stop();
    },
    [Symbol.dispose]: () => output.close(),
  };
  return output;
}

/** What is reported of an actor: that it is there, an event that it got, what it is then. */
type Reported =
  | { readonly type: 'met' }
  | { readonly type: 'event'; readonly event: { readonly type: string }; readonly source: string | undefined }
  | { readonly type: 'snapshot'; readonly event: { readonly type: string }; readonly snapshot: object };

/**
 * Turns what is reported into events of Stately's protocol, at once and with their own code, and passes them on as
 * plain JSON. An actor is introduced when it is first mentioned, after its parent. What is read may throw.
 */
function statelyReporter(
  make: typeof createInspector,
  send: (event: JsonObject) => void,
): (actor: AnyActorRef, what: Reported) => void {
  const known = new WeakSet<AnyActorRef>();
  let about: AnyActorRef | null = null;
  const stately = make({
    send: (event) => {
      if (about === null) return;
      const rootId = rootOf(about)?.sessionId ?? about.sessionId;
      const shared = { ...displayObject(event), rootId };
      if (event.type !== '@xstate.actor') return send(shared);
      const name = about.id;
      send({ ...shared, name, definition: event.definition ?? JSON.stringify({ id: name }) });
    },
  });

  const meet = (actor: AnyActorRef): void => {
    if (known.has(actor)) return;
    known.add(actor);
    const parent: AnyActorRef | undefined = actor._parent;
    if (parent !== undefined) meet(parent);
    about = actor;
    stately.actor(actor, readable(actor.getSnapshot()));
  };

  return (actor, what) => {
    meet(actor);
    about = actor;
    if (what.type === 'event') {
      const { event, source } = what;
      stately.event(actor, { ...displayObject(event), type: event.type }, source === undefined ? {} : { source });
    }
    if (what.type === 'snapshot') {
      const { event, snapshot } = what;
      stately.snapshot(actor, readable(snapshot), { event: { ...displayObject(event), type: event.type } });
    }
  };
}

/** A snapshot as plain JSON; one that is still alive loses its machine. */
function readable(snapshot: unknown): { readonly [member: string]: Json } {
  const json = displayJson(isMachineSnapshot(snapshot) ? snapshot.toJSON() : snapshot);
  return isJsonObject(json) ? json : { output: json };
}

/** Less than 10 MB, which the inspector takes, in any script. */
const MOST_CHARACTERS = 3_000_000;

/** A value that is not longer than this as JSON: the longest members name their length instead. */
function shortened(value: Json, most: number): Json {
  const length = lengthOf(value);
  if (length <= most) return value;
  const mark = `«${length} characters»`;
  if (!isJsonObject(value)) return mark;
  let left = most;
  const members = Object.entries(value).map(([name, member]) => {
    const kept = shortened(member, left / 2);
    left -= name.length + lengthOf(kept);
    return [name, kept];
  });
  return left < 0 ? mark : Object.fromEntries(members);
}

const lengthOf = (value: Json): number => JSON.stringify(value).length;

/** A package that is only needed for one thing, and is not installed. The message says how to install it. */
export class MissingPackageError extends Error {
  override readonly name = 'MissingPackageError';
  readonly code = 'package-missing';
  readonly package: string;

  constructor(missing: string, purpose: string, cause: unknown) {
    super(`${purpose} needs the package '${missing}', which is not installed: npm install ${missing}`, { cause });
    this.package = missing;
  }
}

/** True for what an import throws that finds nothing. */
function isNotFound(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === 'ERR_MODULE_NOT_FOUND';
}
