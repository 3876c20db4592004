/** Owns: the rules of an engine's journal, each checked by bodies that an engine runs and restarts. */
import type { Entry, Perform } from '../../actors/journal.ts';
import type { Json } from '../../json/json.ts';
import type { RunJournal } from '../run/run-journal.ts';
import { ANSWERED, effectOf, entryName, expectSame, expectThat, held, yielding } from './sample-run.ts';
import { type EngineBody, LostAttempt, type TestedEngine } from './tested-engine.ts';

/** Checks one rule: false when it cannot be checked here, and an error when it is broken. */
type EngineRule = (engine: TestedEngine, runId: string) => Promise<boolean>;

const [A, B, C] = ['agent/a/callTool#1', 'agent/b/callTool#1', 'agent/c/callTool#1'] as const;
/** How much later the next attempt is, in milliseconds: its clock must not show it. */
const LATER = 30;
const LARGE = 512 * 1024;
const LARGE_RESULTS = 12;

/** Work that counts how often it is done, and yields after a time. */
function counted(value: Json, ms = 0) {
  const keys: string[] = [];
  const perform: Perform = async ({ idempotencyKey }) => {
    keys.push(idempotencyKey);
    await pause(ms);
    return { ok: true, value };
  };
  return { perform, keys };
}

/** The first attempt is lost where `at` says so; gives how many there were. */
function lostOnce(body: (journal: RunJournal, isFirst: boolean) => Promise<Json>) {
  let attempts = 0;
  const counting: EngineBody = (journal) => body(journal, (attempts += 1) === 1);
  return { body: counting, attempts: () => attempts };
}

const launching: EngineRule = async (engine, runId) => {
  const [never, once] = [counted('never'), counted('done')];
  let early = 0;
  await engine.run(runId, async (journal) => {
    journal.open(effectOf(A), never.perform);
    journal.open(effectOf(B), once.perform);
    await pause(5);
    early += once.keys.length;
    journal.close(A);
    expectSame(entryName(await journal.next()), `outcome ${B}`, 'the entry behind a closed effect');
    await journal.end(ANSWERED);
    return null;
  });
  expectSame([early, never.keys.length, once.keys.length], [0, 0, 1], 'launches: before `next`, closed, open');
  return true;
};

const order: EngineRule = async (engine, runId) => {
  const work = { [A]: held(), [B]: counted('b'), [C]: counted('c', 25) };
  // How old the run is at least, in milliseconds; a timer may fire one early.
  const soonest = [0, 24];
  const seen: { readonly name: string; readonly at: number }[][] = [];
  const { body } = lostOnce(async (journal, isFirst) => {
    const entries: (typeof seen)[number] = [];
    seen.push(entries);
    for (const [id, { perform }] of Object.entries(work)) journal.open(effectOf(id), perform);
    const take = async (): Promise<void> => {
      const name = entryName(await journal.next());
      entries.push({ name, at: journal.at?.() ?? 0 });
    };
    await take();
    await take();
    await pause(LATER);
    if (isFirst) throw new LostAttempt();
    work[A].yields('a');
    await take();
    await journal.end(ANSWERED);
    return null;
  });
  await engine.run(runId, body);
  const [first = [], last = []] = [seen[0], seen.at(-1)];
  const names = last.map(({ name }) => name);
  expectSame(names, [`outcome ${B}`, `outcome ${C}`, `outcome ${A}`], 'entries in the order of being done');
  for (const [index, { name, at }] of first.entries()) {
    // It was written before the first attempt read the time, and after its effect was done.
    const later = last[index]?.at ?? 0;
    expectSame(name, names[index], 'an entry in a later attempt');
    const isSame = later - at < LATER && later >= (soonest[index] ?? 0);
    expectThat(isSame, `a later attempt has another time for ${name}: ${later} ms, where the first had ${at} ms.`);
  }
  expectSame([work[B].keys.length, work[C].keys.length], [1, 1], 'how often finished effects were done');
  return true;
};

const inFlight: EngineRule = async (engine, runId) => {
  const [once, again] = [held(), held()];
  const keys: string[] = [];
  let launches = 0;
  const { body } = lostOnce(async (journal, isFirst) => {
    const entries: Entry[] = [];
    journal.open(effectOf(A, { effects: 'once' }), (io) => {
      launches += 1;
      return once.perform(io);
    });
    journal.open(effectOf(B, { effects: 'idempotent' }), (io) => {
      keys.push(io.idempotencyKey);
      return isFirst ? again.perform(io) : yielding('b')(io);
    });
    const next = journal.next();
    if (isFirst) {
      await Promise.race([Promise.all([once.launched, again.launched]), next]);
      throw new LostAttempt();
    }
    for (const taken of [await next, await journal.next()]) if (taken !== null) entries.push(taken);
    expectSame(entries.map(entryName).sort(), [`outcome ${A}`, `outcome ${B}`], 'the entries of a later attempt');
    const lost = entries.find((entry) => entry.t === 'outcome' && entry.id === A);
    const code = lost?.t === 'outcome' && !lost.out.ok ? lost.out.error.code : 'none';
    expectSame(code, 'unknown-outcome', 'how a `once` effect that was in flight ends');
    await journal.end(ANSWERED);
    return null;
  });
  await engine.run(runId, body);
  expectSame(launches, 1, 'how often a `once` effect was launched');
  expectSame([keys.length, new Set(keys).size], [2, 1], 'launches and keys of an idempotent effect');
  return true;
};

const closing: EngineRule = async (engine, runId) => {
  const work = held();
  await engine.run(runId, async (journal) => {
    journal.open(effectOf(A), work.perform);
    journal.open(effectOf(B), counted('b', 20).perform);
    expectSame(entryName(await journal.next()), `outcome ${B}`, 'the first entry');
    const signal = await work.launched;
    journal.close(A);
    expectThat(signal.aborted, 'work that is closed must be aborted.');
    work.yields('late');
    journal.open(effectOf(C), counted('c', 20).perform);
    expectSame(entryName(await journal.next()), `outcome ${C}`, 'the entry behind a closed effect');
    await journal.end(ANSWERED);
    return null;
  });
  return true;
};

/** On a busy machine the lost attempt can last until its timer has fired, which shows nothing about the next one. */
const MOST_TRIES = 5;

const timers: EngineRule = async (engine, runId) => {
  for (let tries = 1; tries <= MOST_TRIES; tries++) if (await showsTimers(engine, `${runId}-${tries}`)) break;
  return true;
};

/** False when the first attempt was lost too late for a timer that begins anew to be told from one that goes on. */
async function showsTimers(engine: TestedEngine, runId: string): Promise<boolean> {
  const began = performance.now();
  let lostAfter = 0;
  const timer = (id: string, ms: number) => effectOf(id, { name: 'timer', request: null, ms });
  const { body } = lostOnce(async (journal, isFirst) => {
    if (!isFirst) lostAfter ||= performance.now() - began;
    journal.open(timer('timer#1', 1600), held().perform);
    journal.open(effectOf(A), counted('a').perform);
    expectSame(entryName(await journal.next()), `outcome ${A}`, 'the first entry');
    if (isFirst) {
      await pause(1200);
      throw new LostAttempt();
    }
    // Longer than the rest of the first one and shorter than the whole: which of them fires first shows how long that waits.
    journal.open(timer('timer#2', 1000), held().perform);
    expectSame(entryName(await journal.next()), 'timer timer#1', 'a timer of an attempt before against a new one');
    journal.close('timer#2');
    await journal.end(ANSWERED);
    return null;
  });
  await engine.run(runId, body);
  const took = performance.now() - began;
  expectThat(took >= 1590, `a timer of 1600 ms fired after ${took} ms.`);
  return lostAfter < 1590;
}

const outside: EngineRule = async (engine, runId) => {
  const [begun, lost] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
  const heard: string[][] = [];
  const { body } = lostOnce(async (journal, isFirst) => {
    const names: string[] = [];
    heard.push(names);
    const next = journal.next();
    begun.resolve(null);
    names.push(entryName(await next));
    if (isFirst) {
      lost.resolve(null);
      throw new LostAttempt();
    }
    names.push(entryName(await journal.next()));
    await journal.end(ANSWERED);
    return null;
  });
  const running = engine.run(runId, body);
  await begun.promise;
  const first = engine.send(runId, { type: 'said.first' });
  await lost.promise;
  const second = engine.send(runId, { type: 'said.second' });
  expectSame(await Promise.all([first, second]), [true, true], 'what `send` gives to those whose events were taken');
  await running;
  expectSame(heard.at(-1), ['event said.first', 'event said.second'], 'what a run hears');
  expectSame(await engine.send(runId, { type: 'said.late' }), false, 'what `send` gives when the run is over');
  return true;
};

const cancelling: EngineRule = async (engine, runId) => {
  if (engine.cancel === undefined) return false;
  const work = held();
  const running = engine.run(runId, async (journal) => {
    journal.open(effectOf(A), work.perform);
    const entry = await journal.next();
    journal.close(A);
    await journal.end(ANSWERED);
    return entryName(entry);
  });
  await work.launched;
  await engine.cancel(runId);
  expectSame(await running, 'event run.cancelled', 'what a run hears that the engine cancels');
  return true;
};

const large: EngineRule = async (engine, runId) => {
  const text = (at: number): string => `${at}:`.padEnd(LARGE, 'x');
  let done = 0;
  const { body } = lostOnce(async (journal, isFirst) => {
    for (let at = 1; at <= LARGE_RESULTS; at += 1) {
      const id = `agent/a/callTool#${at}`;
      journal.open(effectOf(id, { request: { at } }), async () => {
        done += 1;
        return { ok: true, value: text(at) };
      });
      const entry = await journal.next();
      expectThat(
        entry?.t === 'outcome' && entry.id === id && entry.out.ok && entry.out.value === text(at),
        `the result ${at} of ${LARGE} characters came back changed.`,
      );
      if (isFirst && at === LARGE_RESULTS - 1) throw new LostAttempt();
    }
    await journal.end(ANSWERED);
    return null;
  });
  await engine.run(runId, body);
  expectSame(done, LARGE_RESULTS, 'how many large results were made');
  return true;
};

/** The rules of an engine, by their names. */
export const engineRules: Readonly<Record<string, EngineRule>> = {
  'launch-in-next': launching,
  'order-of-entries': order,
  'effects-in-flight': inFlight,
  'closed-effects': closing,
  timers,
  'outside-events': outside,
  cancel: cancelling,
  'large-results': large,
};

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
