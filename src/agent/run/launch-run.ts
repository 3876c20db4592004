import type { Outcome } from '../../actors/journal.ts';
import type { OwnVault } from '../../actors/vault.ts';
import { readRecording } from '../../journal/format/recording.ts';
import type { RunResult } from '../../machines/agent/run-result.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import type { AgentCore } from '../agent-core.ts';
import { audienceOf } from './audience.ts';
import { bindSignal } from './bind-signal.ts';
import { inspectorOf } from './inspector-of.ts';
import { keepSecrets } from './keep-secrets.ts';
import { pendingLogins } from './pending-approvals.ts';
import type { RunOptions } from './run-options.ts';
import { type MakeStart, type StartedRun, startRun } from './start-run.ts';
import { writeTrace } from './write-trace.ts';

/** A run of an agent, before it is started. */
export interface RunToLaunch {
  readonly runId: string;
  readonly task: string;
  readonly given: Pick<RunOptions, 'context' | 'traceparent' | 'signal' | 'trace' | 'inspect'>;
  /** As in a run's plan; a run without a past is never replayed. */
  readonly replayed?: () => boolean;
  readonly caughtUp?: Promise<unknown>;
  /** Asked when the run has been prepared. Default: the agent's own. */
  readonly vault?: () => OwnVault;
  /** Waits for what the run needs until the signal aborts, which a cancel does. */
  readonly prepare: (signal: AbortSignal) => Promise<MakeStart>;
  /** The run's place may be asked for again as soon as what this gives is over. */
  readonly onDone: (result: RunResult | null) => void | Promise<void>;
  /** Whether its journal can take the run up again; one that cannot is never released. */
  readonly resumable: boolean;
  /** As in a run's plan. */
  readonly onStable?: () => void;
}

/** Starts a run of an agent with all that belongs to one: its audience, the caller's signal, a trace. */
export function launchRun(core: AgentCore, run: RunToLaunch): StartedRun {
  const { runId, task, given, replayed = () => false, caughtUp, vault = () => core.vault, prepare, onDone } = run;
  const { resumable, onStable } = run;
  const audience = audienceOf(core);
  const prompts: string[] = [];
  let forgetSecrets = (): void => undefined;
  const keepsPrompts = core.options().debugPrompts === true;
  const started = startRun({
    runId,
    task,
    replayed,
    ...(caughtUp === undefined ? {} : { caughtUp }),
    ...forking(core, given),
    resumable,
    ...(onStable === undefined ? {} : { onStable }),
    context: given.context,
    traceparent: given.traceparent,
    vault: {
      seal: (value) => vault().seal(value),
      open: (value) => vault().open(value),
      lostMark: (value) => vault().lostMark(value),
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
        forgetSecrets = keepSecrets(core, runId, vault());
        return { ...start, inspector };
      };
    },
    onDone: async (result) => {
      unbind();
      forgetSecrets();
      await onDone(result);
      if (result === null) return;
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

/**
 * A run that is inspected can be forked from the page: the new one is shown where this one is, and its tools get what the
 * caller gave this one's.
 */
function forking(
  { options, fork }: AgentCore,
  { inspect = options().inspect ?? false, context }: RunToLaunch['given'],
): Pick<Parameters<typeof startRun>[0], 'fork'> {
  if (inspect === false || fork === null) return {};
  return {
    fork: async (recording, at, outcome) => {
      const changed = outcome === undefined ? {} : { outcome: outcomeOf(outcome) };
      return fork(readRecording(recording), { at, ...changed, context, inspect }).runId;
    },
  };
}

/** What a person wrote as the outcome: one as the recording writes it, else what the work gave. */
function outcomeOf(json: Json): Outcome {
  if (isJsonObject(json) && json.ok === true && json.value !== undefined) return { ok: true, value: json.value };
  const error = isJsonObject(json) && json.ok === false && isJsonObject(json.error) ? json.error : null;
  if (error !== null && typeof error.code === 'string' && typeof error.message === 'string')
    return { ok: false, error: { code: error.code, message: error.message } };
  return { ok: true, value: json };
}
