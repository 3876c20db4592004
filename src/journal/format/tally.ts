import { isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import { optionsOf } from '../../json/known-options.ts';
import type { RecordLine, RunRecord } from './record.ts';

/** A run's entry in a list, except whether it is being written now. */
export interface Tallied extends Omit<RunSummary, 'state' | 'due'> {
  readonly ended: boolean;
  /** A call awaits approval. */
  readonly waiting: boolean;
  /** Milliseconds after its beginning; null: when someone answers. Undefined: not computed. */
  readonly due: number | null | undefined;
}

/** Counts while a run is written, so that a list need not read it. */
export interface Tally {
  /** The head may be passed again. */
  add(record: RecordLine): void;
  read(): Tallied;
}

/** Sums a run up, record by record from its head and these lines on. */
export function runTally(head: RunRecord, lines: readonly RecordLine[] = []): Tally {
  const tools = new Set<string>();
  const approvals = new Map<string, string>();
  /** What was started and is not done, according to the records: until when it waits, in milliseconds; 0 for work. */
  const open = new Map<string, number>();
  /** Something was reported, and what follows from it is not recorded yet, if anything does. */
  let isNews = true;
  let ending: Ending | null = null;
  let steps = 0;
  let records = 1;

  const settled = (path: string): void => {
    for (const [id, asking] of approvals) if (asking === path || asking.startsWith(`${path}/`)) approvals.delete(id);
  };
  const onStart = (id: string, name: string): void => {
    const path = id.slice(0, id.lastIndexOf('/'));
    // An actor that does something else now no longer asks; a new model turn means that all calls before it are settled.
    settled(name === 'callLlm' ? path.slice(0, path.lastIndexOf('/')) : path);
    if (name === 'askApproval') approvals.set(id, path);
  };

  const add = (record: RecordLine): void => {
    if (record.t !== 'run') records += 1;
    if (record.t === 'timer' || record.t === 'outcome') open.delete(record.id);
    if (record.t !== 'note') isNews = record.t !== 'start';
    switch (record.t) {
      case 'start':
        if (record.ms !== undefined) open.set(record.id, record.at + record.ms);
        else if (record.name !== 'askApproval') open.set(record.id, 0);
        if (record.ms === undefined) onStart(record.id, record.name);
        if (record.name === 'callTool' && isJsonObject(record.request) && typeof record.request.tool === 'string')
          tools.add(record.request.tool);
        break;
      case 'outcome':
        approvals.delete(record.id);
        if (record.ok && record.id.includes('/callLlm#')) steps += 1;
        break;
      case 'event':
        if (record.event.type.startsWith('approval.') && record.to !== undefined) settled(record.to);
        break;
      case 'end':
        ending = endingOf(record.output);
        break;
    }
  };

  const read = (): Tallied => {
    const { runId, agent, at, input, metadata } = head;
    return {
      runId,
      agent,
      at,
      input,
      status: ending?.status ?? null,
      reason: ending?.reason ?? null,
      errorCode: ending?.errorCode ?? null,
      toolsUsed: ending?.toolsUsed ?? [...tools],
      steps: ending?.steps ?? steps,
      records,
      metadata,
      ended: ending !== null,
      waiting: ending === null && approvals.size > 0,
      due: ending === null && !isNews ? dueIn([...open.values()], approvals.size > 0) : 0,
    };
  };
  for (const record of lines) add(record);
  return { add, read };
}

/** Milliseconds after its beginning at which a run may continue: never later than it can. Null: when someone answers. */
function dueIn(open: readonly number[], waits: boolean): number | null {
  if (open.length > 0) return Math.min(...open);
  return waits ? null : 0;
}

interface Ending {
  readonly status: string | null;
  readonly reason: string | null;
  readonly errorCode: string | null;
  readonly toolsUsed: readonly string[] | null;
  readonly steps: number | null;
}

function endingOf(output: unknown): Ending {
  const { status, reason, error, toolsUsed, stepsTaken } = isJsonObject(output) ? output : {};
  return {
    status: textOrNull(status),
    reason: textOrNull(reason),
    errorCode: isJsonObject(error) ? textOrNull(error.code) : null,
    toolsUsed: Array.isArray(toolsUsed) ? toolsUsed.filter((name) => typeof name === 'string') : null,
    steps: typeof stepsTaken === 'number' ? stepsTaken : null,
  };
}

/** A text as it is; null for anything else. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** The line of a list; `written`: a living process writes the run now. */
export function summaryOf({ ended, waiting, due, ...rest }: Tallied, written: boolean): RunSummary {
  const state = ended ? 'ended' : written ? 'running' : waiting ? 'waiting' : 'interrupted';
  if (ended || written || due === undefined) return { ...rest, state };
  return { ...rest, state, due: due === null ? null : timeAfter(rest.at, due) };
}

/** The time this many milliseconds after another, at most the latest possible. */
function timeAfter(at: string, ms: number): string {
  const began = Date.parse(at);
  return new Date(Math.min((Number.isNaN(began) ? 0 : began) + ms, LATEST)).toISOString();
}

/** The latest time of a `Date`. */
const LATEST = 8.64e15;

/** Rejects unknown members of a query: a misspelt one would match every run. */
export const checkQuery = optionsOf<RunQuery>('list', 'docs/recording.md', {
  agent: true,
  state: true,
  status: true,
  reason: true,
  tool: true,
  errorCode: true,
  metadata: true,
  due: true,
  limit: true,
  after: true,
});

/** The runs that a query asks for, newest first. */
export function selectRuns(runs: readonly RunSummary[], query: RunQuery = {}): readonly RunSummary[] {
  checkQuery(query);
  const found = runs.filter((run) => matches(run, query)).toSorted(newestFirst);
  return query.limit === undefined ? found : found.slice(0, query.limit);
}

/** The order of a list. */
export function newestFirst(a: ListPlace, b: ListPlace): number {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1;
  if (a.runId === b.runId) return 0;
  return a.runId < b.runId ? 1 : -1;
}

/** What a run's place in a list depends on. */
export type ListPlace = Pick<RunSummary, 'at' | 'runId'>;

/** Whether a run has what a query asks of its beginning, which never changes. */
export function beginsAs(run: Pick<RunSummary, 'agent' | 'metadata'>, { agent, metadata }: RunQuery): boolean {
  return (agent === undefined || run.agent === agent) && (metadata === undefined || holds(run.metadata, metadata));
}

/** The conversation that a run belongs to, by its metadata; null for one that belongs to none. */
export function conversationIn({ conversation }: JsonObject): string | null {
  return typeof conversation === 'string' ? conversation : null;
}

function holds(found: Json | undefined, wanted: Json): boolean {
  if (isJsonObject(wanted))
    return isJsonObject(found) && Object.entries(wanted).every(([name, value]) => holds(found[name], value));
  if (!Array.isArray(wanted)) return found === wanted;
  return (
    Array.isArray(found) && found.length === wanted.length && wanted.every((value, index) => holds(found[index], value))
  );
}

/** Whether a list for a query shows the run. */
export function matches(run: RunSummary, query: RunQuery): boolean {
  const { state, status, reason, tool, errorCode, after, due } = query;
  return (
    beginsAs(run, query) &&
    (after === undefined || newestFirst(after, run) < 0) &&
    (state === undefined || run.state === state) &&
    (status === undefined || run.status === status) &&
    (reason === undefined || run.reason === reason) &&
    (tool === undefined || run.toolsUsed.includes(tool)) &&
    (errorCode === undefined || run.errorCode === errorCode) &&
    (due === undefined || isDue(run, due))
  );
}

/** Whether a run may continue by a time. If unknown, it may. */
function isDue({ state, due }: RunSummary, by: string): boolean {
  if (state === 'running' || state === 'ended') return false;
  return due === undefined || (due !== null && Date.parse(due) <= Date.parse(by));
}

/** A run in a list. */
export interface RunSummary {
  readonly runId: string;
  readonly agent: string;
  /** When it began, in ISO 8601. */
  readonly at: string;
  readonly input: string;
  /** `interrupted`: it has no end and no process writes it; `waiting`: the same, and one of its calls awaits approval. */
  readonly state: 'running' | 'interrupted' | 'waiting' | 'ended';
  /** Null, as `reason`, for a run that has not ended. */
  readonly status: string | null;
  readonly reason: string | null;
  readonly errorCode: string | null;
  readonly toolsUsed: readonly string[];
  /** For a run that has not ended: the replies of the model so far. */
  readonly steps: number;
  /** The head included; payloads that are stored separately are not records. */
  readonly records: number;
  readonly metadata: JsonObject;
  /**
   * For a run that is `interrupted` or `waiting`: when it may continue by itself, in ISO 8601, never later than it can.
   * Null: when someone answers. Left out if the store does not know.
   */
  readonly due?: string | null;
}

/** How many of the runs that a list leaves out are named. */
const NAMED = 3;

/** The runs that a list leaves out, a sentence each. When the list is done, one warning names some and counts the others. */
export class LeftOut {
  readonly #said: string[] = [];

  add(what: string): void {
    this.#said.push(what);
  }

  [Symbol.dispose](): void {
    const more = this.#said.length - NAMED;
    if (this.#said.length === 0) return;
    process.emitWarning([...this.#said.slice(0, NAMED), ...(more > 0 ? [`… and ${more} more.`] : [])].join('\n'));
  }
}

/** Which runs to list. All given members must match. */
export interface RunQuery {
  readonly agent?: string | undefined;
  readonly state?: RunSummary['state'] | undefined;
  readonly status?: string | undefined;
  readonly reason?: string | undefined;
  readonly tool?: string | undefined;
  readonly errorCode?: string | undefined;
  /** Metadata that must be included: these members with these values; others may exist. */
  readonly metadata?: JsonObject | undefined;
  /** Only runs that no process writes and that may continue by this time, in ISO 8601. */
  readonly due?: string | undefined;
  readonly limit?: number | undefined;
  /** Only runs after this one in the list: the last of the previous page. Default: from the newest. */
  readonly after?: Pick<RunSummary, 'at' | 'runId'> | undefined;
}
