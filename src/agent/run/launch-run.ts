import { type Effect, LONG_TIMER_MS } from '../../actors/journal.ts';
import { confirmIn } from '../below/agent-actors.ts';
import type { OwnRedactor } from '../../actors/redactor.ts';
import { writtenOutcome } from '../../journal/format/cut-recording.ts';
import { readRecording } from '../../journal/format/recording.ts';
import { noteDriven } from '../../journal/run/driven-runs.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { isJsonObject } from '../../json/json.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { atFirstWork, type Keeping, keptSecrets } from '../core/redaction.ts';
import { isTerminal } from '../options/agent-settings.ts';
import { pendingLogins } from './pending-approvals.ts';
import { FollowedByTelemetry } from './followed-by-telemetry.ts';
import { serveRequests } from './ask-run.ts';
import type { RunOptions } from '../options/run-options.ts';
import { startRun } from './start-run.ts';
import type { MakeStart, RunPlan, StartedRun } from './run-plan.ts';
import type { Run } from './run.ts';
import { describeThrown } from '../../json/to-json.ts';
import type { RunPort } from '../../inspector/frames/run-port.ts';
import type { RunEvent, RunEventBody } from '../../machines/events/run-events.ts';
import { consoleOutput } from '../../output/console/console-output.ts';
import { guardOutput, type OutputHandler } from '../../output/output-handler.ts';
import { outputListener } from '../../output/output-listener.ts';

/** A run of an agent, before it is started. */
export interface RunToLaunch {
  readonly runId: string;
  readonly task: string;
  readonly given: Pick<RunOptions, 'context' | 'traceparent' | 'signal' | 'trace' | 'inspect' | 'park' | 'journal'>;
  /** As in a run's plan; a run without a past is never replayed. */
  readonly replayed?: () => boolean;
  readonly caughtUp?: Promise<unknown>;
  /** As in a run's plan. */
  readonly cancelled?: Promise<boolean>;
  /** Asked when the run has been prepared. Default: the agent's own. */
  readonly redactor?: () => OwnRedactor;
  /** Waits for what the run needs until the signal aborts, which a cancel does. */
  readonly prepare: (signal: AbortSignal) => Promise<MakeStart>;
  /** The run's place may be asked for again as soon as what this gives is over. */
  readonly onDone: (result: AnyResult | null) => void | Promise<void>;
  /** Whether its journal can resume the run; otherwise it is never released. */
  readonly resumable: boolean;
  /** As in a run's plan. */
  readonly onStable?: () => void;
  /** As in a run's plan. */
  readonly next?: RunPlan['next'];
}

/** Starts a run of an agent with all that belongs to one: its audience, the caller's signal, a trace. */
export function launchRun(core: AgentCore, run: RunToLaunch): StartedRun {
  const { runId, task, given, replayed = () => false, caughtUp, redactor = () => core.redactor, prepare, onDone } = run;
  const { resumable, onStable } = run;
  const store = given.journal ?? core.options.journal;
  const audience = audienceOf(core);
  const prompts: string[] = [];
  let kept: Keeping = { begin: () => undefined, end: () => undefined };
  let forgetRedactor = (): void => undefined;
  let refuseRequests = (_result: AnyResult | null): void => undefined;
  let forgetRun = (): void => undefined;
  const keepsPrompts = core.options.debugPrompts === true;
  const followed = core.options.telemetry === undefined ? null : new FollowedByTelemetry(core, redactor, run);
  const started = startRun({
    runId,
    task,
    replayed,
    ...(caughtUp === undefined ? {} : { caughtUp }),
    ...(run.cancelled === undefined ? {} : { cancelled: run.cancelled }),
    ...forking(core, given),
    resumable,
    parksOn: resumable && given.park === true ? parksOn(core) : undefined,
    ...(onStable === undefined ? {} : { onStable }),
    next: run.next,
    context: given.context,
    traceparent: given.traceparent,
    recordTokens: core.options.recordTokens,
    redactor: {
      redact: (value) => redactor().redact(value),
      restore: (value) => redactor().restore(value),
      lostMark: (value) => redactor().lostMark(value),
    },
    onEvent: audience.onEvent,
    logins: pendingLogins(core.mcp),
    onPrompt: (prompt) => {
      if (keepsPrompts) prompts.push(prompt);
      if (!replayed()) audience.onPrompt?.(prompt);
    },
    prepare: async (signal) => {
      const [make, inspector] = await Promise.all([
        prepare(given.signal === undefined ? signal : AbortSignal.any([signal, given.signal])),
        inspectorOf(core, given, (warning) => started.announce(warning)),
      ]);
      return (cancelled) => {
        const start = make(cancelled);
        kept = keptSecrets(store?.secrets, runId, redactor());
        // A resumed run was taken: it is this one's already.
        if (caughtUp !== undefined) kept.begin();
        forgetRedactor = core.redaction.remember(start.head, redactor());
        const journal: typeof start.journal = (...machine) => {
          const opened = atFirstWork(start.journal(...machine), kept.begin);
          if (resumable) refuseRequests = serveRequests(store, started);
          forgetRun = noteDriven(store, started.run);
          return opened;
        };
        return { ...start, work: followed?.begin(start) ?? start.work, journal, inspector };
      };
    },
    onDone: async (result) => {
      unbind();
      forgetRun();
      // A run that was let go before its first work has begun all the same.
      if (result?.status === 'waiting') kept.begin();
      kept.end();
      forgetRedactor();
      refuseRequests(result);
      await onDone(result);
      if (result === null) return;
      followed?.end(result);
      await writeTrace(core, given, {
        runId,
        result,
        recording: () => started.run.recording(),
        ...(keepsPrompts ? { prompts } : {}),
      });
    },
  });
  const unbind = bindSignal(started.run, given.signal);
  return started;
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
): Pick<Parameters<typeof startRun>[0], 'fork'> {
  const { runs } = core;
  if (inspect === false || runs === null) return {};
  return {
    fork: async (recording, at, outcome) => {
      // The page counts records; large payloads on their own lines are not records.
      const { numbers: _lines, ...counted } = readRecording(recording);
      const changed = outcome === undefined ? {} : { outcome: writtenOutcome(outcome, counted.lines[at - 2]) };
      return runs.past.fork(counted, { at, ...changed, context, inspect }).runId;
    },
  };
}

/** Cancels the run when the signal aborts; returns a function that stops listening. */
function bindSignal(run: Run, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return () => undefined;
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

/** The listeners of a run: the user's `onEvent`, and the output. */
interface Audience {
  /** Undefined if there is no listener. */
  readonly onEvent: ((event: RunEvent) => void) | undefined;
  /** Undefined if prompts are not requested. */
  readonly onPrompt: ((prompt: string) => void) | undefined;
}

/** Makes the audience of one run, of the agent's options. */
function audienceOf(core: AgentCore): Audience {
  const { onEvent, showStats = false, debug = false, showPrompts = false } = core.options;
  const output = outputOf(core);
  const listen = output === null ? null : outputListener(output, { model: () => core.model.id, showStats, debug });
  const shows = output !== null && (showPrompts || output.wants?.prompts === true);
  return {
    onEvent:
      onEvent === undefined && listen === null
        ? undefined
        : (event) => {
            tell(onEvent, event);
            listen?.(event);
          },
    onPrompt: shows ? (prompt) => guardOutput(output).prompt(prompt) : undefined,
  };
}

/** A listener must not break the run that it listens to, or the process if it is asynchronous. */
function tell(listener: ((event: RunEvent) => unknown) | undefined, event: RunEvent): void {
  try {
    const told = listener?.(event);
    if (told !== undefined) Promise.resolve(told).catch(() => undefined);
  } catch {
    // It is the listener's to notice.
  }
}

/**
 * The output of an agent: the given one, else the console in a terminal, else none. That console shows the way to the answer
 * and not the answer, which `run` gives to the program that asked: printed there, it would stand in the terminal twice.
 */
function outputOf(core: AgentCore): OutputHandler | null {
  const { output, silent } = core.options;
  if (output !== undefined) return output;
  if (silent === true || typeof process === 'undefined' || process.stderr?.isTTY !== true) return null;
  return consoleOutput({ answer: false });
}
