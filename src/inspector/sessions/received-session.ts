/**
 * Owns: the session of one actor system of another app, of which only Stately's events are known. Does not own: reading
 * them, or which session they belong to.
 *
 * I1 The machines are drawn and compared, never run: nothing of what was sent is executed.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { inPath } from '../../actors/leaf.ts';
import { OwnRedactor } from '../../actors/redactor.ts';
import type { Json } from '../../json/json.ts';
import { eventName } from '../../machines/events/transition-log.ts';
import { drawMachine, transitionIds } from '../frames/drawing.ts';
import type { StepInfo } from '../frames/protocol.ts';
import { candidatesOf } from '../frames/step-details.ts';
import { ENDINGS, LoggedSession } from './logged-session.ts';
import { likelyTaken, receivedMachine, receivedStates, resolved } from './received-event.ts';
import type { ActorReceived, EventReceived, ReceivedSnapshot, SnapshotReceived } from './received-event.ts';

interface ReceivedActor {
  readonly path: string;
  readonly machine: AnyStateMachine | null;
  states: readonly string[];
  context: Json;
  snapshot: AnyMachineSnapshot | null;
  /** What it was introduced as, as long as its beginning was not shown yet. */
  unborn: ReceivedSnapshot | null;
  lastEvent: EventReceived | null;
}

interface ReceivedOptions {
  readonly id: string;
  /** The session id of the system's root. */
  readonly rootId: string;
  readonly title: string;
  readonly app: string;
  readonly onChange: () => void;
  readonly onClose: () => void;
}

/**
 * Their client reads what an actor is a moment after it began, when it may be further on; the snapshot that comes next is
 * its true beginning. An actor without further events for this long is shown as it was introduced.
 */
const NEXT_MS = 500;
/** Actors that live at a time; those beyond are not shown. */
const MOST_ACTORS = 5000;
/** How long all definitions together may be, in characters; machines beyond are shown by their states alone. */
const MOST_DEFINITIONS = 10_000_000;

/** A session that is fed with events of another app. */
export class ReceivedSession {
  readonly session: LoggedSession;
  readonly #rootId: string;
  /** By session id, which is theirs. */
  readonly #actors = new Map<string, ReceivedActor>();
  readonly #drawings = new Set<string>();
  #began: number | null = null;
  #definitions = 0;
  #n = 0;

  constructor({ id, rootId, app, ...options }: ReceivedOptions) {
    this.#rootId = rootId;
    this.session = new LoggedSession(id, {
      ...options,
      agent: app,
      can: [],
      redact: new OwnRedactor().redact,
      act: () =>
        Promise.resolve({ ok: false, message: 'It runs in another program, which only reports what happens.' }),
    });
  }

  actor({ sessionId, name, parentId, definition, snapshot, at }: ActorReceived): void {
    if (this.#actors.has(sessionId) || this.#actors.size >= MOST_ACTORS) return;
    const machine = this.#machineOf(definition);
    const root = sessionId === this.#rootId ? undefined : this.#actors.get(this.#rootId);
    const parent = (this.#actors.get(parentId ?? '') ?? root)?.path ?? null;
    const own = inPath(name);
    const path = this.#freePath(parent === null ? own : `${parent}/${own}`);
    const nothing = { states: [], context: null, snapshot: null, lastEvent: null };
    const actor: ReceivedActor = { path, machine, unborn: snapshot, ...nothing };
    this.#actors.set(sessionId, actor);
    const drawing = machine === null ? null : this.#draw(machine);
    const info = { path, parent, src: machine?.id ?? name, drawing };
    this.session.add({ t: 'actor', session: this.session.id, actor: info, step: this.#n });
    setTimeout(() => this.#begin(actor, at), NEXT_MS).unref();
  }

  event(event: EventReceived): void {
    const actor = this.#actors.get(event.sessionId);
    if (actor !== undefined) actor.lastEvent = event;
  }

  snapshot(received: SnapshotReceived): void {
    const { sessionId, snapshot, event, at } = received;
    if (!this.#actors.has(sessionId)) {
      const unknown = { name: sessionId, parentId: null, definition: null };
      this.actor({ ...received, ...unknown, type: '@xstate.actor' });
    }
    const actor = this.#actors.get(sessionId);
    if (actor === undefined) return;
    const isFirst = event.type === 'xstate.init';
    this.#begin(actor, at, isFirst ? snapshot : actor.unborn);
    if (snapshot.value !== null && !isFirst) this.#step(actor, snapshot, event, at);
    if (snapshot.status === 'active') return;
    if (sessionId === this.#rootId)
      this.session.end({ status: ENDINGS.get(snapshot.status) ?? 'stopped', reason: null });
    else this.#gone(sessionId, actor);
  }

  #begin(actor: ReceivedActor, at: number | null, as: ReceivedSnapshot | null = actor.unborn): void {
    if (actor.unborn === null || as === null) return;
    actor.unborn = null;
    if (as.value !== null) this.#step(actor, as, { type: 'xstate.init' }, at);
  }

  #step(actor: ReceivedActor, now: ReceivedSnapshot, event: SnapshotReceived['event'], at: number | null): void {
    const before = actor.snapshot;
    const after = resolved(actor.machine, now);
    const to = receivedStates(after, now.value);
    const text = JSON.stringify(now.context);
    const taken = before === null || after === null ? [] : likelyTaken(before, event, after);
    const begins = event.type === 'xstate.init';
    const isStep = begins || taken.length > 0 || String(to) !== String(actor.states);
    if (isStep || JSON.stringify(actor.context) !== text) {
      const step: StepInfo = {
        n: ++this.#n,
        at: this.#sinceBeginning(at),
        actor: actor.path,
        event: eventName(event),
        transitions: taken.flatMap(transitionIds),
        from: begins ? [] : actor.states,
        to,
        entry: null,
        ...this.#senderOf(actor, event.type),
      };
      this.session.add({ t: 'step', session: this.session.id, step });
      const contexts = { before: begins ? null : actor.context, after: now.context };
      const detail = () => {
        // Its guards are in the other program: what was taken has passed, of the others nothing is known.
        const candidates = candidatesOf({ event, before, after, taken });
        const judged = candidates.map((one) => (one.taken ? { ...one, passed: true } : one));
        return { step, event, ...contexts, unknown: [], candidates: judged };
      };
      this.session.keepStep(step.n, detail, text.length + JSON.stringify(event).length);
    }
    actor.states = to;
    actor.context = now.context;
    actor.snapshot = after;
  }

  #gone(sessionId: string, { path }: ReceivedActor): void {
    this.#actors.delete(sessionId);
    this.session.add({ t: 'actor-gone', session: this.session.id, path, step: this.#n });
  }

  #draw(machine: AnyStateMachine): string {
    const drawing = drawMachine(machine);
    if (!this.#drawings.has(drawing.hash)) this.session.add({ t: 'drawing', drawing });
    this.#drawings.add(drawing.hash);
    return drawing.hash;
  }

  #senderOf({ lastEvent }: ReceivedActor, type: string): Pick<StepInfo, 'sender'> {
    if (lastEvent?.event.type !== type) return {};
    if (lastEvent.sourceId === null) return { sender: null };
    const source = this.#actors.get(lastEvent.sourceId);
    return source === undefined ? {} : { sender: source.path };
  }

  #sinceBeginning(at: number | null): number {
    const now = at ?? Date.now();
    this.#began ??= now;
    return Math.max(0, now - this.#began);
  }

  #freePath(wanted: string): string {
    const taken = new Set([...this.#actors.values()].map(({ path }) => path));
    let path = wanted;
    for (let more = 2; taken.has(path); more++) path = `${wanted}~${more}`;
    return path;
  }

  #machineOf(definition: string | null): AnyStateMachine | null {
    this.#definitions += definition?.length ?? 0;
    return definition === null || this.#definitions > MOST_DEFINITIONS ? null : receivedMachine(definition);
  }
}
