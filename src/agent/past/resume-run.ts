import { type ResumeOptions, ownerIn } from '../options/run-options.ts';
import { continuedJournal } from '../../journal/replay/continued-journal.ts';
import { JournalError } from '../../journal/format/journal-error.ts';
import { ReplayDivergenceError } from '../../journal/replay/divergence.ts';
import { liveJournal } from '../../journal/run/live-journal.ts';
import { lastKnown, promptedHead, runnable } from '../../journal/format/recorded-tools.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { definitionHash } from '../../journal/format/run-input.ts';
import { type RunHead, type RunJournal, type Sink, type TakenRun, giveBack } from '../../journal/run/run-journal.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { LeafWork } from '../../actors/leaf.ts';
import type { Message } from '../../actors/model.ts';
import type { CallToolInput } from '../../actors/tool-call/call-tool.ts';
import { issuesOf } from '../../parsing/schema/fit.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { ResumeError } from '../options/agent-errors.ts';
import { type RunToLaunch, launchRun } from '../run/launch-run.ts';
import { newHead } from '../run/new-head.ts';
import { type LiveRuns, restartNews } from './live-runs.ts';
import type { StartedRun } from '../run/run-plan.ts';
import { type UpgradeDifferences, upgradeDifferences } from '../../journal/replay/upgrade.ts';
import type { PromptChange } from '../../machines/contract/agent-setup.ts';
import { isJsonObject } from '../../json/json.ts';
import { wrongOption } from '../../json/known-options.ts';
import type { OnUpgrade } from '../options/option-types.ts';

/** Receives what the run started from, and that it is over. */
interface Resumption extends Pick<RunToLaunch, 'onStable' | 'next'> {
  /** Awaited before the run is taken, so that its previous holder in this process releases it. */
  readonly after?: Promise<unknown>;
  /** It is resumed only to be ended: changed tools and instructions do not matter. */
  readonly onlyEnds?: boolean;
  /** Whether it is still to be resumed, now that no other process can change it; otherwise it counts as another's. */
  readonly isWanted?: ((recording: Recording) => boolean) | undefined;
  /** How often it is tried again while another has the run, who may only be writing an answer into it. Default 10. */
  readonly tries?: number;
  readonly onTaken: (history: readonly Message[], past: Recording) => void;
  readonly onDone: (result: AnyResult | null) => Promise<unknown> | undefined;
}

/** A resumed run has its conversation in its own record. */
const opened = { history: [], queued: [] };

/** Resumes a run from an agent's journal. Returns at once; if it cannot be resumed, the result rejects. */
export function resumeRun(live: LiveRuns, runId: string, given: ResumeOptions, told: Resumption): StartedRun {
  const { core } = live;
  const [caughtUp, cancelled] = [Promise.withResolvers<undefined>(), Promise.withResolvers<boolean>()];
  let played = true;
  let taken: TakenRun | null = null;
  let redactor = core.redactor;

  const started = launchRun(core, {
    runId,
    task: '',
    given,
    replayed: () => played,
    caughtUp: caughtUp.promise,
    cancelled: cancelled.promise,
    resumable: true,
    ...(told.onStable === undefined ? {} : { onStable: told.onStable }),
    next: told.next,
    redactor: () => redactor,
    prepare: async (signal) => {
      await told.after;
      taken = await takeRun(core, runId, told);
      const held = taken;
      const isChanged = held.recording.head.machine.hash !== definitionHash();
      const migrated = isChanged && given.migrate !== undefined;
      const past = runnable(migrated ? migrate(held.recording, given.migrate) : held.recording);
      let known = lastKnown(past);
      redactor = core.redaction.redactorOf(past);
      told.onTaken(redactor.restore(past.head.history), past);
      const { head } = past;
      let upgraded: Upgraded = { tools: 'now', prompt: null, retyped: new Map() };
      if (past.lines.at(-1)?.t !== 'end' && told.onlyEnds !== true) {
        const setup = await live.ready(signal);
        const now = newHead(core, { runId, input: { task: '', content: null }, opened, setup, metadata: {} });
        if (now.refused !== undefined && !signal.aborted) throw notNow(runId, now.refused);
        upgraded = await upgradedRun(core, past, now);
      }
      const owner = ownerIn(head);
      if (owner !== undefined) started.owner = owner;
      return (why) => ({
        head,
        work: checkingArgs(core.work({ output: null, owner, park: given.park === true }), upgraded.retyped),
        journal: (accepts) => {
          const journal = continuedJournal({
            past,
            state: () => started.run.state.state,
            kind: migrated ? 'rewritten' : 'resumed',
            news: async (restart) => {
              const news = await restartNews(core, { past, ...upgraded, restart, redact: redactor.redact });
              known = news.known;
              return news.event;
            },
            goOn: (carried) => {
              taken = null;
              const run: RunHead = { head, accepts, carried };
              return migrated ? reopened(core, held, run) : liveJournal(run, held.sink);
            },
            onLive: () => {
              played = false;
              caughtUp.resolve(undefined);
              if (upgraded.tools === 'now') live.follow(started, known, redactor);
              told.onStable?.();
            },
          });
          if (why !== undefined)
            cancelled.resolve(journal.send(redactor.redact({ type: 'run.cancelled', reason: why })));
          return isChanged && !migrated ? refusing(journal, runId, () => played) : journal;
        },
      });
    },
    onDone: async (result) => {
      caughtUp.resolve(undefined);
      cancelled.resolve(false);
      live.forget(started);
      await (taken && giveBack(taken.sink));
      await told.onDone(result === null ? null : redactor.restore(result));
    },
  });
  live.add(started);
  return started;
}

/** A server that it cannot do without is not ready: nothing that was answered or done is spent, and it can be resumed later. */
const notNow = (runId: string, { code, message }: NonNullable<RunRecord['refused']>): Error =>
  Object.assign(new Error(`Run ${runId} cannot continue: ${message}`), { code });

async function takeRun(core: AgentCore, runId: string, told: Resumption): Promise<TakenRun> {
  const store = core.journal();
  if (store.take === undefined) throw new ResumeError('journal-cannot-resume', runId);
  let taken: TakenRun | null;
  try {
    taken = await store.take(runId);
  } catch (error) {
    const { tries = 10 } = told;
    if (tries === 0 || !(error instanceof JournalError) || error.code !== 'run-locked') throw error;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return takeRun(core, runId, { ...told, tries: tries - 1 });
  }
  if (taken === null) throw new ResumeError('run-unknown', runId);
  if (told.isWanted?.(taken.recording) !== false) return taken;
  await taken.sink.close();
  throw new JournalError('run-locked', runId, 'the journal');
}

function migrate(recording: Recording, change: ResumeOptions['migrate']): Recording {
  const { head, lines } = change?.(recording) ?? recording;
  return { head: { ...head, machine: { ...head.machine, hash: definitionHash() } }, lines };
}

/** Writes the run again, in the place of the one that was taken. */
async function reopened(core: AgentCore, { sink, recording }: TakenRun, run: RunHead): Promise<RunJournal> {
  let isReplaced = false;
  const append: Sink['append'] = (records) => {
    if (isReplaced) return sink.append(records);
    isReplaced = true;
    return sink.replace?.(records);
  };
  const onDoubt: Sink['onDoubt'] = (doubted) => sink.onDoubt?.(doubted);
  if (sink.replace !== undefined) return liveJournal(run, { append, onDoubt, close: () => sink.close() });
  const store = core.journal();
  const { runId } = recording.head;
  const secrets = store.secrets?.read(runId) ?? {};
  await sink.close();
  await store.remove?.(runId);
  store.secrets?.keep(runId, secrets);
  return store.open(run);
}

/** For machines that are known to be different, a divergence means that they changed. */
function refusing(journal: RunJournal, runId: string, isPlayed: () => boolean): RunJournal {
  const explained = (error: unknown): never => {
    if (isPlayed() && error instanceof ReplayDivergenceError)
      throw new ResumeError('machine-changed', runId, { cause: error });
    throw error;
  };
  return {
    ...journal,
    next: () => journal.next().catch(explained),
    end: async (output) => {
      try {
        await journal.end(output);
      } catch (error) {
        explained(error);
      }
    },
  };
}

/** How a run that was begun by other code continues. */
interface Upgraded {
  /** `now`: it gets the tools as they stand, from the next model turn on. `recorded`: it keeps those that it had. */
  readonly tools: 'now' | 'recorded';
  /** Its new prompt; null: the prompt stays as recorded. */
  readonly prompt: PromptChange | null;
  /** What the tools of open calls take now, by the calls' ids, where they no longer take what was recorded. */
  readonly retyped: UpgradeDifferences['retyped'];
}

/** No tool gets arguments that it does not take: an open call that nobody has edited to fit fails. */
function checkingArgs(work: LeafWork, retyped: Upgraded['retyped']): LeafWork {
  const call = work('callTool');
  if (call === undefined || retyped.size === 0) return work;
  const checked: typeof call = (input, io) => {
    const { callId, tool, args }: CallToolInput = input;
    const [issue] = issuesOf(args, retyped.get(callId) ?? {});
    if (issue === undefined) return call(input, io);
    const text = `'${tool}' was changed since this call was made, and no longer takes its arguments: ${issue.path} ${issue.message}`;
    throw Object.assign(new TypeError(text), { code: 'arguments-changed' });
  };
  return (name) => (name === 'callTool' ? checked : work(name));
}

/**
 * Decides by the option `onUpgrade` how a run continues; `now` is how a run of the agent would begin. Rejects with
 * a `ResumeError` (`upgrade-refused`) if it must not continue.
 */
async function upgradedRun(core: AgentCore, past: Recording, now: RunRecord): Promise<Upgraded> {
  const found = upgradeDifferences(past, now);
  const { retyped } = found;
  if (found.differences.length === 0) return { tools: 'now', prompt: null, retyped };
  const { onUpgrade } = core.options;
  const choice = onUpgrade === undefined ? null : await chosen(onUpgrade, past.head, { found, now });
  if (choice === 'refuse' || (choice === null && found.forbidding.length > 0)) {
    const { runId, agent } = past.head;
    const owner = agent === now.agent ? [] : [`it is a run of the agent '${agent}', and this is '${now.agent}'`];
    throw new ResumeError('upgrade-refused', runId, {
      differences: [...owner, ...found.forbidding, ...found.differences],
    });
  }
  if (choice === 'current') {
    const { instructions, promptByCode: byCode } = now;
    return { tools: 'now', prompt: found.isPromptOther ? { instructions, byCode } : null, retyped };
  }
  return {
    tools: choice === 'recorded' ? 'recorded' : 'now',
    // The output of the old code is kept; the code itself has changed.
    prompt: promptedHead(past).promptByCode && found.isPromptOther ? lastPrompt(past) : null,
    retyped,
  };
}

async function chosen(
  onUpgrade: OnUpgrade,
  head: RunRecord,
  { found: { forbidding, differences }, now }: { readonly found: UpgradeDifferences; readonly now: RunRecord },
) {
  if (typeof onUpgrade === 'string') return onUpgrade;
  const version = { recorded: head.version ?? null, current: now.version ?? null };
  const told = {
    runId: head.runId,
    version,
    differences: [...forbidding, ...differences],
    fits: forbidding.length === 0,
  };
  const choice = await onUpgrade(told);
  if (['refuse', 'recorded', 'current'].includes(choice)) return choice;
  throw wrongOption(`onUpgrade must return 'refuse', 'recorded' or 'current', and returned ${JSON.stringify(choice)}.`);
}

/** The prompt that code made last in a recording; null before the first. */
function lastPrompt({ lines }: Recording): PromptChange | null {
  const made = lines.findLast((line) => line.t === 'outcome' && line.ok && MADE.test(line.id));
  const texts: unknown = made?.t === 'outcome' && made.ok ? made.value : null;
  if (!isJsonObject(texts) || typeof texts.native !== 'string' || typeof texts.json !== 'string') return null;
  return { native: texts.native, json: texts.json };
}

const MADE = /^agent\/composePrompt#\d+$/;
