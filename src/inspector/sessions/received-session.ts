/**
 * Owns: the session of one actor system of another app, of which only Stately's events are known. Does not own: reading
 * them, or which session they belong to.
 *
 * I1 The machines are drawn and compared, never run: nothing of what was sent is executed.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { createVault } from '../../actors/vault.ts';
import { eventName } from '../../machines/events/transition-log.ts';
import type { Json } from '../../json/json.ts';
import { candidatesOf } from '../frames/candidates.ts';
import { drawMachine, transitionIds } from '../frames/drawing.ts';
import { loggedSession } from './logged-session.ts';
import type { Frame, StepDetail, StepInfo } from '../frames/protocol.ts';
import type { ActorReceived, EventReceived, ReceivedSnapshot, SnapshotReceived } from './received-event.ts';
import { likelyTaken, receivedMachine, receivedStates, resolved } from './received-machine.ts';
import type { Session } from './session.ts';
import type { Ending } from './session-info.ts';

/** A session that is fed with events of another app. */
export interface ReceivedSession {
  readonly session: Session;
  actor(event: ActorReceived): void;
  event(event: EventReceived): void;
  snapshot(event: SnapshotReceived): void;
  /** Nothing more is to come, unless it goes on. */
  end(ending: Ending): void;
  /** It goes on after all. */
  resume(): void;
}

interface Place {
  readonly path: string;
  readonly machine: AnyStateMachine | null;
  states: readonly string[];
  context: Json;
  snapshot: AnyMachineSnapshot | null;
  /** Its beginning has not been told yet. */
  unborn: ReceivedSnapshot | null;
  /** The event that it got last. */
  heard: EventReceived | null;
}

interface ReceivedOptions {
  readonly title: string;
  readonly app: string;
  readonly onChange: () => void;
}

/**
 * Their client reads what an actor is a moment after it began, when it may be further on; the snapshot that comes next is
 * its true beginning. An actor of which nothing more is heard for this long is shown as it was introduced.
 */
const NEXT_MS = 500;
/** Actors that live at a time; those beyond are not shown. */
const MOST_ACTORS = 5000;
/** How long all definitions together may be, in characters; machines beyond are shown by their states alone. */
const MOST_DEFINITIONS = 10_000_000;

/** Makes the session of an actor system, of its root's session id. */
export function receivedSession(
  id: string,
  rootId: string,
  { title, app, onChange }: ReceivedOptions,
): ReceivedSession {
  const at = new Date().toISOString();
  const places = new Map<string, Place>();
  const actors = new Map<string, Frame>();
  const drawings = new Map<string, Frame>();
  let ending: Ending = { status: 'running', reason: null };
  let began: number | null = null;
  let definitions = 0;
  let n = 0;

  const { session, tell, keepStep } = loggedSession(id, {
    info: () => ({ id, kind: 'system', title, agent: app, at, ...ending, problem: null, parent: null, can: [] }),
    standing: () => [...drawings.values(), ...actors.values()],
    seal: createVault(() => []).seal,
    act: () => Promise.resolve({ ok: false, message: 'It runs in another program, which only tells what happens.' }),
  });
  const sinceBeginning = (moment: number | null): number => {
    const now = moment ?? Date.now();
    began ??= now;
    return Math.max(0, now - began);
  };
  const draw = (machine: AnyStateMachine): string => {
    const drawing = drawMachine(machine);
    if (!drawings.has(drawing.hash)) {
      const frame: Frame = { t: 'drawing', drawing };
      drawings.set(drawing.hash, frame);
      tell(frame, true);
    }
    return drawing.hash;
  };
  const move = (place: Place, now: ReceivedSnapshot, event: SnapshotReceived['event'], moment: number | null): void => {
    const { path, machine } = place;
    const before = place.snapshot;
    const after = resolved(machine, now);
    const to = receivedStates(after, now.value);
    const text = JSON.stringify(now.context);
    const taken = before === null || after === null ? [] : likelyTaken(before, event, after);
    const begins = event.type === 'xstate.init';
    const moved = begins || taken.length > 0 || String(to) !== String(place.states);
    if (moved || JSON.stringify(place.context) !== text) {
      n += 1;
      const from = begins ? [] : place.states;
      const info: StepInfo = {
        n,
        at: sinceBeginning(moment),
        actor: path,
        event: eventName(event),
        transitions: taken.flatMap(transitionIds),
        from,
        to,
        entry: null,
        ...senderOf(place, event.type),
      };
      tell({ t: 'step', session: id, step: info }, true);
      const contexts = { before: begins ? null : place.context, after: now.context };
      const detail = (): StepDetail => ({
        step: info,
        event,
        ...contexts,
        unknown: [],
        // Its guards are in the other program: what was taken has passed, of the others nothing is known.
        candidates: candidatesOf({ event, before, after, taken }).map((one) =>
          one.taken ? { ...one, passed: true } : one,
        ),
      });
      keepStep(n, detail, text.length + JSON.stringify(event).length);
    }
    place.states = to;
    place.context = now.context;
    place.snapshot = after;
  };
  const senderOf = ({ heard }: Place, type: string): Pick<StepInfo, 'sender'> => {
    if (heard?.event.type !== type) return {};
    if (heard.sourceId === null) return { sender: null };
    const source = places.get(heard.sourceId);
    return source === undefined ? {} : { sender: source.path };
  };
  const begin = (place: Place, moment: number | null, as: ReceivedSnapshot | null = place.unborn): void => {
    if (place.unborn === null || as === null) return;
    place.unborn = null;
    if (as.value !== null) move(place, as, { type: 'xstate.init' }, moment);
  };
  const freePath = (wanted: string): string => {
    const taken = new Set([...places.values()].map(({ path }) => path));
    let path = wanted;
    for (let more = 2; taken.has(path); more++) path = `${wanted}~${more}`;
    return path;
  };
  const gone = (sessionId: string, { path }: Place): void => {
    places.delete(sessionId);
    actors.delete(path);
    tell({ t: 'actor-gone', session: id, path, step: n }, true);
  };
  const end = (how: Ending): void => {
    if (ending.status !== 'running') return;
    ending = how;
    onChange();
  };
  const machineOf = (definition: string | null): AnyStateMachine | null => {
    definitions += definition?.length ?? 0;
    return definition === null || definitions > MOST_DEFINITIONS ? null : receivedMachine(definition);
  };

  const received: ReceivedSession = {
    session,
    actor: ({ sessionId, name, parentId, definition, snapshot, at: moment }) => {
      if (places.has(sessionId) || places.size >= MOST_ACTORS) return;
      const machine = machineOf(definition);
      const parent =
        places.get(parentId ?? '')?.path ?? (sessionId === rootId ? null : (places.get(rootId)?.path ?? null));
      const own = name.replaceAll('/', '∕');
      const path = freePath(parent === null ? own : `${parent}/${own}`);
      const place: Place = { path, machine, states: [], context: null, snapshot: null, unborn: snapshot, heard: null };
      places.set(sessionId, place);
      const drawing = machine === null ? null : draw(machine);
      const frame: Frame = {
        t: 'actor',
        session: id,
        actor: { path, parent, src: machine?.id ?? name, drawing },
        step: n,
      };
      actors.set(path, frame);
      tell(frame, true);
      setTimeout(() => begin(place, moment), NEXT_MS).unref();
    },
    event: (event) => {
      const place = places.get(event.sessionId);
      if (place !== undefined) place.heard = event;
    },
    snapshot: (event) => {
      const { sessionId, snapshot } = event;
      if (!places.has(sessionId)) {
        const unknown = { name: sessionId, parentId: null, definition: null };
        received.actor({ ...event, ...unknown, type: '@xstate.actor' });
      }
      const place = places.get(sessionId);
      if (place === undefined) return;
      const isFirst = event.event.type === 'xstate.init';
      begin(place, event.at, isFirst ? snapshot : place.unborn);
      if (snapshot.value !== null && !isFirst) move(place, snapshot, event.event, event.at);
      if (snapshot.status === 'active') return;
      if (sessionId === rootId) end({ status: ENDINGS.get(snapshot.status) ?? 'stopped', reason: null });
      else gone(sessionId, place);
    },
    end,
    resume: () => {
      ending = { status: 'running', reason: null };
      onChange();
    },
  };
  return received;
}

const ENDINGS: ReadonlyMap<string, Ending['status']> = new Map([
  ['done', 'answered'],
  ['error', 'failed'],
]);
