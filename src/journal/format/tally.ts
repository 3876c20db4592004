import { isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import { optionsOf } from '../../json/known-options.ts';
import type { RecordLine, RunRecord } from './record.ts';

/** What a list of runs shows of one, but for whether somebody writes it now. */
export interface Tallied extends Omit<RunSummary, 'state'> {
  readonly ended: boolean;
  /** A call awaits approval. */
  readonly waiting: boolean;
}

/** Counts along while a run is written, so that a list needs not read it. */
export interface Tally {
  /** The head, which was given already, may come again. */
  add(record: RecordLine): void;
  read(): Tallied;
}

/** Sums a run up, record by record from its head on. */
export function runTally(head: RunRecord): Tally {
  const tools = new Set<string>();
  const approvals = new Map<string, string>();
  let ending: Ending | null = null;
  let steps = 0;
  let records = 1;

  const settled = (path: string): void => {
    for (const [id, asking] of approvals) if (asking === path || asking.startsWith(`${path}/`)) approvals.delete(id);
  };
  const onStart = (id: string, name: string): void => {
    const path = id.slice(0, id.lastIndexOf('/'));
    // Whoever does something else now asks no more; a new model turn means that all calls before it are settled.
    settled(name === 'callLlm' ? path.slice(0, path.lastIndexOf('/')) : path);
    if (name === 'askApproval') approvals.set(id, path);
  };

  const add = (record: RecordLine): void => {
    if (record.t !== 'run') records += 1;
    switch (record.t) {
      case 'start':
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
    };
  };
  return { add, read };
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
    status: textOr(status),
    reason: textOr(reason),
    errorCode: isJsonObject(error) ? textOr(error.code) : null,
    toolsUsed: Array.isArray(toolsUsed) ? toolsUsed.filter((name) => typeof name === 'string') : null,
    steps: typeof stepsTaken === 'number' ? stepsTaken : null,
  };
}

function textOr(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** The line of a list; `written`: a living process writes the run now. */
export function summaryOf({ ended, waiting, ...rest }: Tallied, written: boolean): RunSummary {
  return { ...rest, state: ended ? 'ended' : written ? 'running' : waiting ? 'waiting' : 'interrupted' };
}

/** Refuses what no query has: a misspelt member would find every run. */
export const checkQuery = optionsOf<RunQuery>('list', 'docs/recording.md', {
  agent: true,
  state: true,
  status: true,
  reason: true,
  tool: true,
  errorCode: true,
  metadata: true,
  limit: true,
  after: true,
});

/** The runs that a query asks for, newest first. */
export function selectRuns(runs: readonly RunSummary[], query: RunQuery = {}): readonly RunSummary[] {
  checkQuery(query);
  const found = runs.filter((run) => matches(run, query)).toSorted(newestFirst);
  return query.limit === undefined ? found : found.slice(0, query.limit);
}

function newestFirst(a: Place, b: Place): number {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1;
  if (a.runId === b.runId) return 0;
  return a.runId < b.runId ? 1 : -1;
}

type Place = Pick<RunSummary, 'at' | 'runId'>;

/** Whether a run has what a query asks of its beginning, which never changes. */
export function beginsAs(run: Pick<RunSummary, 'agent' | 'metadata'>, { agent, metadata }: RunQuery): boolean {
  return (agent === undefined || run.agent === agent) && (metadata === undefined || holds(run.metadata, metadata));
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
  const { state, status, reason, tool, errorCode, after } = query;
  return (
    beginsAs(run, query) &&
    (after === undefined || newestFirst(after, run) < 0) &&
    (state === undefined || run.state === state) &&
    (status === undefined || run.status === status) &&
    (reason === undefined || run.reason === reason) &&
    (tool === undefined || run.toolsUsed.includes(tool)) &&
    (errorCode === undefined || run.errorCode === errorCode)
  );
}

/** A run in a list. */
export interface RunSummary {
  readonly runId: string;
  readonly agent: string;
  /** When it began, in ISO 8601. */
  readonly at: string;
  readonly input: string;
  /** `interrupted`: it has no end and nobody writes it; `waiting`: so, and a call of it awaits approval. */
  readonly state: 'running' | 'interrupted' | 'waiting' | 'ended';
  /** Null, as `reason`, for a run that has not ended. */
  readonly status: string | null;
  readonly reason: string | null;
  readonly errorCode: string | null;
  readonly toolsUsed: readonly string[];
  /** Of a run that has not ended: the replies of the model so far. */
  readonly steps: number;
  /** The head included; payloads that are stored by themselves are no records. */
  readonly records: number;
  readonly metadata: JsonObject;
}

/** Which runs to list. Everything given must hold. */
export interface RunQuery {
  readonly agent?: string;
  readonly state?: RunSummary['state'];
  readonly status?: string;
  readonly reason?: string;
  readonly tool?: string;
  readonly errorCode?: string;
  /** What its metadata holds: these members with these values, others beside them. */
  readonly metadata?: JsonObject;
  readonly limit?: number;
  /** Only runs that come later in the list than this one: the last of the page before. Without it, from the newest on. */
  readonly after?: Pick<RunSummary, 'at' | 'runId'> | undefined;
}
