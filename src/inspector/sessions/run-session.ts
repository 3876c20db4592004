import type { LineSource, WatchedRun } from '../frames/run-port.ts';
import type { SessionInfo, Act, ActReply, SessionEnding } from '../frames/protocol.ts';
import { JournalSession } from './journal-session.ts';
import { describeThrown, toJson } from '../../json/to-json.ts';
import { OUTSIDE_EVENTS } from '../../machines/events/outside-events.ts';
import { checkEvent } from '../frames/event-schemas.ts';

/** Makes the session of a run that an agent has handed in, and how to say that it is over. */
export function runSession(run: WatchedRun, onChange: () => void) {
  let ending: SessionEnding = { status: 'running', reason: null };
  let waiting = 0;
  const over = (): boolean => ending.status !== 'running';
  const source: LineSource = {
    reader: () => run.reader(),
    said: () => run.said(),
    watch: (watcher) => {
      run.watch(watcher);
      return () => run.watch(null);
    },
  };
  const can = (): SessionInfo['can'] => {
    const always: SessionInfo['can'] = run.fork === undefined ? ['download'] : ['fork', 'download'];
    return over() ? always : ['approve', 'cancel', 'send', ...always];
  };
  const session = new JournalSession(run.head.runId, {
    kind: 'run',
    head: run.head,
    source,
    ending: () => ending,
    waiting: () => waiting,
    text: () => run.recording(),
    can,
    act: (act) => (over() && act.kind !== 'fork' ? Promise.resolve(no('The run is over.')) : perform(run, act)),
  });
  return {
    session,
    /** It is likely to be opened, and has taken no transition yet. */
    expect: (): void => session.expect(),
    waiting: (calls: number): void => {
      waiting = calls;
      onChange();
    },
    ended: (how: SessionEnding): void => {
      ending = how;
      if (how.status !== 'interrupted') waiting = 0;
      onChange();
    },
  };
}

/** Does what the page asks of a run. Never rejects: a failure is part of the reply. */
async function perform(run: WatchedRun, act: Act): Promise<ActReply> {
  try {
    return await ordered(run, act);
  } catch (error) {
    return no(describeThrown(error).message);
  }
}

async function ordered(run: WatchedRun, act: Act): Promise<ActReply> {
  switch (act.kind) {
    case 'approve': {
      const how = { always: act.always ?? false, ...(act.args === undefined ? {} : { args: act.args }) };
      return verdict(await run.approve(act.callId, how), ANSWERED);
    }
    case 'reject':
      return verdict(await run.reject(act.callId, act.reason ?? ''), ANSWERED);
    case 'cancel':
      return verdict(await run.cancel(act.reason ?? ''), 'The run is over.');
    case 'send':
      return send(run, act);
    case 'fork': {
      if (run.fork === undefined) return no('This run cannot be forked: its agent does not offer it.');
      return { ok: true, session: await run.fork(act.entry, act.outcome) };
    }
  }
}

const ANSWERED = 'The call no longer waits: it was answered already, or has ended.';

/** Events with which XState and our leaves report to machines: sent by a user they would be false. */
const RESERVED = /^(?:xstate|leaf)\./;

async function send(run: WatchedRun, { event, to }: Extract<Act, { kind: 'send' }>): Promise<ActReply> {
  if (RESERVED.test(event.type)) return no(`Events such as ${event.type} are made by the machine itself.`);
  const usable = toJson(event);
  if (!usable.ok) return no(`The event is not usable: ${usable.reason}.`);
  const json = Object.hasOwn(OUTSIDE_EVENTS, event.type) ? OUTSIDE_EVENTS[event.type] : undefined;
  const checked = await checkEvent(event, json === undefined ? undefined : { json, standard: null });
  if (!checked.ok) return no(checked.message);
  const taken = await run.send(event, to);
  return verdict(taken, `${to ?? 'The machine'} does not take ${event.type} now.`);
}

function verdict(ok: boolean, message: string): ActReply {
  return ok ? { ok } : no(message);
}

function no(message: string): ActReply {
  return { ok: false, message };
}
