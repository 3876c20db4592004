/**
 * Owns: the option names of an agent's methods, and the errors for wrong ones. Does not own: the values of the agent's
 * own options (`agent-options.ts`).
 */
import { readInput } from './input-parts.ts';
import { typedOutput } from './output-options.ts';
import { checkRunId } from '../../journal/format/record.ts';
import { type AllGiven, optionsOf, wrongOption } from '../../json/known-options.ts';
import { LONGEST_TIMEOUT } from '../../actors/deadline.ts';
import { isJsonObject } from '../../json/json.ts';
import { toJson } from '../../json/to-json.ts';
import {
  type AgentLogicInput,
  type CloseOptions,
  type ConfigurableOptions,
  type ConversationOptions,
  type ListToolsOptions,
  type OrphanOptions,
  type QueueOptions,
  type ResumeOptions,
  type RunOptions,
  type ApprovalOptions,
  type SteerOptions,
  type WakeOptions,
  WHEN_BUSY,
  metadataOf,
} from './run-options.ts';

const DOCS = 'docs/agents.md';

/** Refuses a value of an option, as a mistake of the program. */
function refuse(what: string, name: string, rule: string): never {
  throw wrongOption(`${what}: option '${name}' must be ${rule}.`);
}

/** Refuses what is not a signal, such as the controller of one. */
export function checkSignal(what: string, signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener }: { readonly aborted?: unknown; readonly addEventListener?: unknown } =
    Object(signal);
  if (typeof aborted !== 'boolean' || typeof addEventListener !== 'function') refuse(what, 'signal', 'an AbortSignal');
}

/** Refuses wrong values of what `agent.run` and `agent.resume` have in common. */
function checkHow(what: string, { signal, trace, inspect, park }: RunOptions): void {
  checkSignal(what, signal);
  if (!['undefined', 'boolean', 'string'].includes(typeof trace)) refuse(what, 'trace', 'true, false or a path');
  if (!['undefined', 'boolean'].includes(typeof park)) refuse(what, 'park', 'true or false');
  const shown: object = Object(inspect);
  if (!['undefined', 'boolean'].includes(typeof inspect) && !('attach' in shown || 'then' in shown))
    refuse(what, 'inspect', 'true, false or an inspector');
}

/** Refuses the reason of a cancel or a denial that is not text, such as an error. */
export function checkReason(what: string, reason: unknown): void {
  if (typeof reason !== 'string') throw wrongOption(`${what}: the reason must be a text.`);
}

/** Refuses options of a run that are not known. */
export const checkRunOptions = optionsOf<RunOptions>('agent.run', DOCS, {
  signal: true,
  maxSteps: true,
  outputSchema: true,
  outputMode: true,
  checkOutput: true,
  whenBusy: true,
  again: true,
  context: true,
  metadata: true,
  runId: true,
  inspect: true,
  journal: true,
  trace: true,
  traceparent: true,
  park: true,
});

/** Refuses options of `agent.resume` that are not known or have wrong values. */
export function checkResume(given: ResumeOptions): void {
  checkResumeNames(given);
  checkHow('agent.resume', given);
}

const checkResumeNames = optionsOf<ResumeOptions>('agent.resume', DOCS, {
  context: true,
  signal: true,
  trace: true,
  inspect: true,
  migrate: true,
  traceparent: true,
  park: true,
});

/** Refuses options of `agent.wake` that are not known, and times and numbers that are none. */
export function checkWake(given: WakeOptions): void {
  checkWakeNames(given);
  const { due, limit } = given;
  if (due !== undefined && !Number.isFinite(due instanceof Date ? due.getTime() : due))
    throw wrongOption("agent.wake: option 'due' must be a Date or a time in milliseconds.");
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1))
    throw wrongOption("agent.wake: option 'limit' must be a whole number from 1 on.");
}

const checkWakeNames = optionsOf<WakeOptions>('agent.wake', DOCS, {
  due: true,
  limit: true,
  context: true,
  contextFor: true,
});

/** Refuses options of `agent.resumeOrphans` that are not known, and numbers that are none. */
export function checkOrphans(given: OrphanOptions): void {
  checkOrphansNames(given);
  const { olderThan = 0, limit = 1 } = given;
  if (!Number.isFinite(olderThan)) refuse('agent.resumeOrphans', 'olderThan', 'a number of milliseconds');
  if (limit !== Number.POSITIVE_INFINITY && !(Number.isInteger(limit) && limit >= 0))
    refuse('agent.resumeOrphans', 'limit', 'a whole number from 0 on');
}

const checkOrphansNames = optionsOf<OrphanOptions>('agent.resumeOrphans', DOCS, {
  olderThan: true,
  limit: true,
  context: true,
  contextFor: true,
});

/** Refuses options of an approval that are not known, and values that no call can get or that a person did not mean. */
export function checkApproval(given: ApprovalOptions, what: string): void {
  checkApprovalNames(given, what);
  const { always = false, args = {}, reason = '' } = given;
  if (typeof reason !== 'string') refuse(what, 'reason', 'a text');
  if (typeof always !== 'boolean') refuse(what, 'always', 'true or false');
  const json = toJson(args);
  if (!json.ok || !isJsonObject(json.value)) refuse(what, 'args', `a JSON object${json.ok ? '' : `: ${json.reason}`}`);
}

const checkApprovalNames = optionsOf<ApprovalOptions>('approve', DOCS, { always: true, args: true, reason: true });

/** Refuses options of a message to a run that are not known. */
export const checkSteer = optionsOf<SteerOptions>('steer', DOCS, { id: true, interrupt: true });

const checkQueueNames = optionsOf<QueueOptions>('queue', DOCS, { id: true, metadata: true });

/** Refuses options of `agent.close` that are not known: one that is misspelt would end the runs that it was to keep. Gives them all. */
export function readClose(given: CloseOptions): AllGiven<CloseOptions> {
  checkCloseNames(given);
  const { graceMs = 5000, runs = 'cancel' } = given;
  if (!(typeof graceMs === 'number' && graceMs >= 0))
    refuse('agent.close', 'graceMs', 'a number of milliseconds from 0 on');
  if (runs !== 'cancel' && runs !== 'release') refuse('agent.close', 'runs', "'cancel' or 'release'");
  return { graceMs: Math.min(graceMs, LONGEST_TIMEOUT), runs };
}

const checkCloseNames = optionsOf<CloseOptions>('agent.close', DOCS, { graceMs: true, runs: true });

/** Refuses options of `agent.listTools` that are not known. */
export const checkListTools = optionsOf<ListToolsOptions>('agent.listTools', DOCS, { verbose: true });

/** Refuses members of the input of `agent.logic` that are not known. */
export const checkLogicInput = optionsOf<AgentLogicInput>('agent.logic: input', DOCS, {
  task: true,
  history: true,
  context: true,
  onStop: true,
});

/** Refuses options that cannot be changed between runs. */
export const checkConfigurable = optionsOf<ConfigurableOptions>(
  "agent.configure changes only some of createAgent's options",
  DOCS,
  { output: true, confirm: true, permissions: true, defaultPolicy: true, model: true, instructions: true },
);

/** Refuses options that no run can be started with. */
export function checkRun(given: RunOptions): void {
  checkRunOptions(given);
  checkRunId('agent.run', given.runId);
  checkHow('agent.run', given);
  const { maxSteps, whenBusy, journal, again } = given;
  if (!['undefined', 'boolean'].includes(typeof again)) refuse('agent.run', 'again', 'true or false');
  if (journal !== undefined && typeof Reflect.get(Object(journal), 'open') !== 'function')
    refuse('agent.run', 'journal', 'a journal');
  if (whenBusy !== undefined && !WHEN_BUSY.includes(whenBusy))
    throw wrongOption(
      `agent.run: option 'whenBusy' must be one of ${WHEN_BUSY.join(', ')}, and is ${JSON.stringify(whenBusy)}.`,
    );
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && maxSteps >= 1))
    throw wrongOption(`agent.run: option 'maxSteps' must be a whole number from 1 on, and is ${String(maxSteps)}.`);
  if (whenBusy !== 'steer' && whenBusy !== 'interrupt') return;
  // A message to a live run becomes a run of its own where it comes too late: then nobody could be told.
  metadataOf(given.metadata);
  typedOutput('agent.run', given);
}

/** Rejects a message that is not a string, and unknown options of it. */
export function checkMessage(what: string, text: unknown, given: SteerOptions): void {
  if (typeof text !== 'string' || text.trim() === '')
    throw wrongOption(`${what}: the message must be a text that is not blank.`);
  checkSteer(given, what);
  checkMessageId(what, given);
}

/** Rejects a message for the next run that is not an input, and invalid options. */
export function checkQueued(what: string, input: unknown, given: QueueOptions): void {
  readInput(input, what);
  checkQueueNames(given, what);
  checkMessageId(what, given);
  metadataOf(given.metadata, what);
}

function checkMessageId(what: string, { id }: QueueOptions): void {
  if (id !== undefined && (typeof id !== 'string' || id === ''))
    throw wrongOption(`${what}: option 'id' must be a text that is not empty.`);
}

const TALKS = 'docs/conversations.md';
const checkConversationNames = optionsOf<ConversationOptions>('agent.conversation', TALKS, { owner: true });

const checkTalkResume = optionsOf<TalkResume>('conversation.resume', TALKS, { context: true, park: true });
type TalkResume = Pick<ResumeOptions, 'context' | 'park'>;

/** What a conversation is resumed with. */
export function talkResume(given: TalkResume): TalkResume {
  checkTalkResume(given);
  return given;
}

/** Rejects an id or an owner that is not a string. */
export function checkConversation(id: unknown, given: ConversationOptions): void {
  if (typeof id !== 'string' || id === '')
    throw wrongOption('agent.conversation: the id must be a text that is not empty.');
  checkConversationNames(given);
  const { owner = id } = given;
  if (typeof owner !== 'string' || owner === '')
    throw wrongOption("agent.conversation: option 'owner' must be a text that is not empty.");
}
