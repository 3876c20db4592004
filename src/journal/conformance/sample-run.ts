/** Owns: a run that a rule drives at the port, as the driver of an agent does, and what a rule reads back. */
import { type Effect, type Entry, type Perform, effectKey } from '../../actors/journal.ts';
import { digest } from '../../json/digest.ts';
import type { Json, JsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import { DEFAULT_SETTINGS } from '../../machines/contract/agent-setup.ts';
import type { RecordLine, RunRecord } from '../format/record.ts';
import { runRecord } from '../format/run-input.ts';
import type { JournalStore, RunHead, RunJournal, TakenRun } from '../run/run-journal.ts';

/** How a store is made and what else can be done with it in a test. Rules that need what is not given are skipped. */
export interface JournalConformanceOptions {
  /** Another store at the same place, as a second process opens it. */
  readonly reopen?: ((store: JournalStore) => JournalStore | Promise<JournalStore>) | undefined;
  /** Makes the lock of a run free although its writer lives: as if it had been silent for too long. */
  readonly loseLock?: ((store: JournalStore, runId: string) => void | Promise<void>) | undefined;
  /** Leaves the beginning of a record after the last one of a run, as a crash does. For stores whose writes can be cut short. */
  readonly tear?: ((store: JournalStore, runId: string) => void | Promise<void>) | undefined;
  /** How many runs the rule `many-writers` writes at once. Default 1000. */
  readonly writers?: number | undefined;
  /** How long one rule may take, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** What a rule is checked on. */
export interface Tested {
  readonly store: JournalStore;
  readonly options: JournalConformanceOptions;
}

/** Checks one rule: false when it cannot be checked here, and an error when it is broken. */
export type JournalRule = (tested: Tested) => Promise<boolean>;

/** What a sample run is about. */
export interface Sample {
  readonly agent?: string;
  readonly input?: string;
  readonly at?: string;
  readonly metadata?: JsonObject;
}

/** The end of a run that has answered. */
export const ANSWERED = { status: 'answered', reason: 'answer', stepsTaken: 1, toolsUsed: ['look'] };

/** The first record of a run. */
export function sampleHead(runId: string, sample: Sample = {}): RunRecord {
  const { agent = 'sample', input = 'Go', at = new Date().toISOString(), metadata = {} } = sample;
  const setup = {
    agent,
    instructions: 'You look.',
    promptByCode: false,
    toolset: { tools: [], servers: [], skills: [], recovery: {} },
    toolCalling: 'native',
    callsNatively: false,
    settings: DEFAULT_SETTINGS,
    seed: 1,
    warnings: [],
    children: [],
    escalates: false,
  } as const;
  return runRecord({ task: input, history: [], setup }, { runId, at, metadata });
}

/** Begins a run that takes every event, unless `accepts` says otherwise. */
export function begin(
  store: JournalStore,
  runId: string,
  { accepts = () => true, ...sample }: Sample & Partial<Pick<RunHead, 'accepts'>> = {},
): RunJournal {
  return store.open({ head: sampleHead(runId, sample), accepts });
}

/** A leaf's effect, or with `ms` a timer. */
export function effectOf(id: string, more: Partial<Pick<Effect, 'effects' | 'ms' | 'request' | 'name'>> = {}): Effect {
  const { effects = 'none', request = { tool: 'look' }, name = 'callTool', ms } = more;
  const sum = digest(request);
  return { id, name, effects, request, digest: sum, key: effectKey(id, sum), ...(ms === undefined ? {} : { ms }) };
}

/** Work that yields a value at once. */
export const yielding =
  (value: Json): Perform =>
  () =>
    Promise.resolve({ ok: true, value });

/** Work that yields on command. */
export function held() {
  const launched = Promise.withResolvers<AbortSignal>();
  const outcome = Promise.withResolvers<Json>();
  let isLaunched = false;
  const perform: Perform = async ({ signal }) => {
    isLaunched = true;
    launched.resolve(signal);
    return { ok: true, value: await outcome.promise };
  };
  return { perform, launched: launched.promise, yields: outcome.resolve, isLaunched: () => isLaunched };
}

/** Runs one call and ends: four records. */
export async function wholeRun(store: JournalStore, runId: string, sample: Sample & { readonly value?: Json } = {}) {
  const journal = begin(store, runId, sample);
  journal.open(effectOf('agent/toolCall/callTool#1'), yielding(sample.value ?? 'done'));
  await journal.next();
  await journal.end(ANSWERED);
}

/** A run that waits for an approval, and then continues. */
export async function waitingRun(store: JournalStore, runId: string, sample: Sample = {}) {
  const journal = begin(store, runId, sample);
  const asking = held();
  journal.open(effectOf('agent/toolCall/askApproval#1', { name: 'askApproval' }), asking.perform);
  const next = journal.next();
  await Promise.race([asking.launched, next]);
  return { journal, asking };
}

/** The same, abandoned as in a crash. */
export async function abandonedRun(store: JournalStore, runId: string, sample: Sample = {}): Promise<void> {
  const { journal } = await waitingRun(store, runId, sample);
  if (journal.abandon === undefined) throw new Error('a run of it cannot be given up: `abandon` is missing.');
  await journal.abandon();
}

/** The records that a store has of a run, the head first; none where there is no such run. */
export async function recordsIn(store: JournalStore, runId: string): Promise<readonly RecordLine[]> {
  const recording = (await store.read?.(runId)) ?? null;
  return recording === null ? [] : [recording.head, ...recording.lines];
}

/** Takes a run that must be there. */
export async function takeRun(store: JournalStore, runId: string): Promise<TakenRun> {
  const taken = (await store.take?.(runId)) ?? null;
  if (taken === null) throw new Error(`run ${runId} was written, and \`take\` gives null.`);
  return taken;
}

/** Compares values; the error has what was expected, shortened. */
export function expectSame(found: unknown, expected: unknown, what: string): void {
  if (sameText(found) === sameText(expected)) return;
  throw new Error(`${what}: expected ${shown(expected)}, found ${shown(found)}.`);
}

/** Fails unless something is so. */
export function expectThat(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** Fails unless the work fails with one of these codes. */
export async function expectCode(work: () => unknown, codes: readonly string[], what: string): Promise<void> {
  let code: unknown = null;
  try {
    await work();
  } catch (error) {
    code = error instanceof Error ? (Reflect.get(error, 'code') ?? error.message) : 'something that is no Error';
  }
  if (typeof code === 'string' && codes.includes(code)) return;
  const found = code === null ? 'it succeeded' : `it failed with ${JSON.stringify(code)}`;
  throw new Error(`${what} must fail with the code ${codes.join(' or ')}, and ${found}.`);
}

/** Records as their kinds and ids: `run`, `start a#1`. */
export function outline(records: readonly RecordLine[]): readonly string[] {
  return records.map((record) => ('id' in record ? `${record.t} ${record.id}` : record.t));
}

/** What an entry is, in the same way. */
export function entryName(entry: Entry | null): string {
  if (entry === null) return 'nothing';
  return entry.t === 'event' ? `event ${entry.event.type}` : `${entry.t} ${entry.id}`;
}

/** The same for values that are the same as JSON. */
function sameText(value: unknown): string {
  const json = toJson(value ?? null);
  return json.ok ? digest(json.value) : `not JSON: ${json.reason}`;
}

const LONGEST = 300;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text;
}
