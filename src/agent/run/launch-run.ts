import { type Effect, LONG_TIMER_MS, type Redactor } from '../../actors/journal.ts';
import { confirmIn } from '../below/agent-actors.ts';
import type { OwnRedactor } from '../../actors/redactor.ts';
import { writtenOutcome } from '../../journal/format/cut-recording.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import { readRecording } from '../../journal/format/recording.ts';
import { noteDriven } from '../../journal/run/driven-runs.ts';
import type { RunJournal } from '../../journal/run/run-journal.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { isJsonObject, memberOf } from '../../json/json.ts';
import { wrongOption } from '../../json/known-options.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { KeptSecrets } from '../core/redaction.ts';
import { isTerminal } from '../options/agent-settings.ts';
import { PendingLogins } from './pending-approvals.ts';
import { FollowedByTelemetry } from './followed-by-telemetry.ts';
import { serveRequests } from './ask-run.ts';
import type { RunOptions } from '../options/run-options.ts';
import type { RunEventBody } from '../../machines/events/run-events.ts';
import { type Audience, audienceOf } from './audience.ts';
import { startRun } from './start-run.ts';
import type { AskedRun, MakeStart, RunPlan, RunStart, StartedRun } from './run-plan.ts';
import type { Run } from './run.ts';
import { describeThrown } from '../../json/to-json.ts';
import type { RunPort } from '../../inspector/frames/run-port.ts';

/** A run of an agent, before it is started. */
export interface RunToLaunch extends AskedRun {
  readonly given: Pick<RunOptions, 'context' | 'traceparent' | 'signal' | 'trace' | 'inspect' | 'park' | 'journal'>;
  /** As in a run's plan; a run without a past is never replayed. */
  replayed?(): boolean;
  /** Asked when the run has been prepared. Default: the agent's own. */
  redactor?(): OwnRedactor;
  /** Waits for what the run needs until the signal aborts, which a cancel does. */
  prepare(signal: AbortSignal): Promise<MakeStart>;
  /** The run's place may be asked for again as soon as what this gives is over. */
  onDone(result: AnyResult | null): void | Promise<void>;
}

/** Starts a run of an agent with all that belongs to one: its audience, the caller's signal, a trace. */
export function launchRun(core: AgentCore, run: RunToLaunch): StartedRun {
  return new LaunchedRun(core, run).started;
}

class LaunchedRun implements RunPlan {
  readonly started: StartedRun;
  readonly run: RunToLaunch;
  readonly recordTokens: boolean | undefined;
  readonly redactor: Redactor;
  readonly fork: RunPlan['fork'];
  readonly onEvent: RunPlan['onEvent'];
  readonly logins: PendingLogins;
  readonly parksOn: RunPlan['parksOn'];
  readonly #core: AgentCore;
  readonly #onPrompt: Audience['onPrompt'];
  readonly #prompts: string[] | null;
  readonly #followed: FollowedByTelemetry | null;
  #kept: KeptSecrets | null = null;
  #head: RunRecord | null = null;
  #unbind: () => void = nothing;
  #refuseRequests: (result: AnyResult | null) => void = nothing;
  #forgetRun: () => void = nothing;

  constructor(core: AgentCore, run: RunToLaunch) {
    const { given, resumable } = run;
    const { onEvent, onPrompt } = audienceOf(core);
    this.#core = core;
    this.run = run;
    this.recordTokens = core.options.recordTokens;
    this.redactor = new RunRedactor(core, run);
    this.fork = forking(core, given);
    this.onEvent = onEvent;
    this.logins = new PendingLogins(core.mcp);
    this.parksOn = resumable === true && given.park === true ? parksOn(core) : undefined;
    this.#onPrompt = onPrompt;
    this.#prompts = core.options.debugPrompts === true ? [] : null;
    this.#followed = core.options.telemetry === undefined ? null : new FollowedByTelemetry(core, this.redactor, run);
    this.started = startRun(this);
    this.#unbind = bindSignal(this.started.run, given.signal);
  }

  replayed(): boolean {
    return this.run.replayed?.() ?? false;
  }

  onPrompt(prompt: string): void {
    this.#prompts?.push(prompt);
    if (!this.replayed()) this.#onPrompt?.(prompt);
  }

  async prepare(signal: AbortSignal): Promise<MakeStart> {
    const { given } = this.run;
    const [make, inspector] = await Promise.all([
      this.run.prepare(given.signal === undefined ? signal : AbortSignal.any([signal, given.signal])),
      inspectorOf(this.#core, given, (warning) => this.started.announce(warning)),
    ]);
    return (cancelled) => this.#begin(make(cancelled), inspector);
  }

  #begin(start: RunStart, inspector: RunPort | null): RunStart {
    const { redaction, options } = this.#core;
    const store = this.run.given.journal ?? options.journal;
    const redactor = redactorOf(this.#core, this.run);
    const kept = store?.secrets === undefined ? null : new KeptSecrets(store.secrets, this.run.runId, redactor);
    this.#kept = kept;
    // A resumed run was taken: it is this one's already.
    if (this.run.caughtUp !== undefined) kept?.begin();
    this.#head = start.head;
    redaction.remember(start.head, redactor);
    const journal: typeof start.journal = (...machine) => {
      const opened = journalAtOnce(start.journal(...machine));
      if (this.run.resumable === true) this.#refuseRequests = serveRequests(store, this.started);
      this.#forgetRun = noteDriven(store, this.started.run);
      return kept === null ? opened : kept.atFirstWork(opened);
    };
    return { ...start, work: this.#followed?.begin(start) ?? start.work, journal, inspector };
  }

  async onDone(result: AnyResult | null): Promise<void> {
    this.#unbind();
    this.#forgetRun();
    // A run that was let go before its first work has begun all the same.
    if (result?.status === 'waiting') this.#kept?.begin();
    this.#kept?.end();
    if (this.#head !== null) this.#core.redaction.forget(this.#head, redactorOf(this.#core, this.run));
    this.#refuseRequests(result);
    await this.run.onDone(result);
    if (result === null) return;
    this.#followed?.end(result);
    await writeTrace(this.#core, this.run.given, {
      runId: this.run.runId,
      result,
      recording: () => this.started.run.recording(),
      ...(this.#prompts === null ? {} : { prompts: this.#prompts }),
    });
  }
}

const nothing = (): void => undefined;

function redactorOf(core: AgentCore, run: Pick<RunToLaunch, 'redactor'>): OwnRedactor {
  return run.redactor?.() ?? core.redactor;
}

/** The redactor that a run has at the time: a resumed one gets its own when its recording has been read. */
class RunRedactor implements Redactor {
  readonly #core: AgentCore;
  readonly #run: RunToLaunch;

  constructor(core: AgentCore, run: RunToLaunch) {
    this.#core = core;
    this.#run = run;
  }

  redact<T>(value: T): T {
    return redactorOf(this.#core, this.#run).redact(value);
  }

  restore<T>(value: T): T {
    return redactorOf(this.#core, this.#run).restore(value);
  }

  lostMark(value: unknown): string | null {
    return redactorOf(this.#core, this.#run).lostMark(value);
  }
}

/** A run is parked on long timers, and on approvals, unless someone is asked for them in this process. */
function parksOn(core: AgentCore): (effect: Effect) => boolean {
  const { silent } = core.options;
  return ({ name, ms = 0, request }) => {
    if (name !== 'askApproval') return ms >= LONG_TIMER_MS;
    const agent = isJsonObject(request) && typeof request.agent === 'string' ? request.agent : '';
    const confirm = confirmIn(core.ports, agent) ?? core.options.confirm;
    return confirm === undefined ? silent === true || !isTerminal() : confirm === 'wait';
  };
}

/**
 * A run that is inspected can be forked from the page: the new one is shown where this one is, and its tools get what the
 * caller gave this one's.
 */
function forking(
  core: AgentCore,
  { inspect = core.options.inspect ?? false, context }: RunToLaunch['given'],
): RunPlan['fork'] {
  const { runs } = core;
  if (inspect === false || runs === null) return undefined;
  return async (recording, at, outcome) => {
    // The page counts records; large payloads on their own lines are not records.
    const { numbers: _lines, ...counted } = readRecording(recording);
    const changed = outcome === undefined ? {} : { outcome: writtenOutcome(outcome, counted.lines[at - 2]) };
    return runs.past.fork(counted, { at, ...changed, context, inspect }).runId;
  };
}

/** Cancels the run when the signal aborts; returns a function that stops listening. */
function bindSignal(run: Run, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return nothing;
  const cancel = (): void => void run.cancel(describeThrown(signal.reason).message);
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}

/**
 * The inspector that a run is shown on, and the agent's connections beside it; null for none. One that cannot be
 * started only causes a warning: a run never depends on being watched.
 */
async function inspectorOf(
  core: AgentCore,
  given: Pick<RunOptions, 'inspect'>,
  announce: (body: RunEventBody) => void,
): Promise<RunPort | null> {
  const { inspect: always, silent } = core.options;
  const { inspect: asked = always } = given;
  if (asked === undefined || asked === false) return null;
  try {
    const inspector = asked === true ? await own(silent === true) : await asked;
    core.mcp.showOn(inspector);
    return inspector;
  } catch (error) {
    announce({ type: 'warning', message: `The inspector could not be started: ${describeThrown(error).message}` });
    return null;
  }
}

/** Loaded only when needed: an agent that is not inspected needs neither HTTP nor the page. */
async function own(silent: boolean): Promise<RunPort> {
  const { ownInspector } = await import('../../inspector/create-inspector.ts');
  return ownInspector({ silent });
}

interface Traced {
  readonly runId: string;
  readonly result: AnyResult;
  readonly recording: () => string;
  /** With `debugPrompts`: the system prompt of each request. */
  readonly prompts?: readonly string[];
}

/**
 * Writes the trace of a run, if requested: what the recording holds, the result and its time. A trace that cannot be
 * written does not fail the run.
 */
async function writeTrace(
  core: AgentCore,
  run: Pick<RunOptions, 'trace'>,
  { runId, result, recording, prompts }: Traced,
): Promise<void> {
  const asked = run.trace ?? core.options.trace ?? false;
  if (asked === false) return;
  // A name with a slash would be a path, and one such as a user's own name could lead out of the folder.
  const file = `${core.name.replaceAll(/[\\/:*?"<>|]+/g, '-')}-${runId}.trace.json`;
  const path = typeof asked === 'string' ? asked : `${core.options.outputDir ?? '.'}/${file}`;
  const lines: unknown[] = recording()
    .split('\n')
    .filter(Boolean)
    .map((line): unknown => JSON.parse(line));
  const trace = { agent: core.name, runId, result, ...(prompts === undefined ? {} : { prompts }), recording: lines };
  try {
    const { mkdir, writeFile } = await import('node:fs/promises');
    const { dirname } = await import('node:path');
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `${JSON.stringify(trace, null, 2)}\n`, { mode: 0o600 });
  } catch (error) {
    process.emitWarning(`The trace of run ${runId} could not be written to ${path}: ${describeThrown(error).message}`);
  }
}

/** What a store of the user's own has opened, which may be anything. */
function journalAtOnce(opened: RunJournal): RunJournal {
  if (typeof memberOf(opened, 'next') === 'function') return opened;
  const isPromise = opened instanceof Promise;
  if (isPromise) opened.catch(nothing);
  throw wrongOption(
    `The journal's open() must return the journal of a run at once, and has returned ${isPromise ? 'a promise' : 'none'}. What takes time belongs in append().`,
  );
}
