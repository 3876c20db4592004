import { leafErrorOf } from '../../actors/leaf.ts';
import { isJsonObject } from '../../json/json.ts';
import type { AgentContext, PlannedCall } from '../agent/agent-context.ts';
import type { CallOutcome } from '../tool-call/call-request.ts';
import { answerGiven, toolHandedUp } from '../agent/escalating.ts';
import { endsWithWrittenCall } from '../agent/planning.ts';
import { isSteeredOn } from '../agent/steering.ts';
import type { LlmCallContext, LlmCallOutput, llmCallMachine } from '../llm-call/llm-call.ts';
import { askedModel } from '../llm-call/model-list.ts';
import type { ReadReply } from '../agent/read-reply.ts';
import type { RunEventBody } from './run-events.ts';
import { mailNews } from '../contract/mail.ts';
import { AGENT_STATES, type AgentOutput, type AgentState, runResultOf } from '../contract/run-result.ts';
import { permissionKey, sourceOf } from '../../tools/server-tool.ts';
import { type ToolCallContext, askedBecause, limitOf } from '../tool-call/tool-call-context.ts';
import { troubleOfCode } from '../tool-call/tool-recovery.ts';
import { type Microstep, type PathOf, isAt, isIn } from './transition-log.ts';
import type { agentMachine } from '../agent/agent.ts';
import type { toolCallMachine } from '../tool-call/tool-call.ts';

interface ReaderOptions {
  readonly runId: string;
  /** A monotonic clock in milliseconds, for durations. */
  readonly now: () => number;
  /** `agent` is the place of the child agent that the event is about; empty for the root. */
  readonly emit: (event: RunEventBody, agent: string) => void;
}

/** What the states of recovery are called in events. */
const RECOVERY_STEPS: ReadonlyMap<string, string> = new Map<PathOf<typeof toolCallMachine>, string>([
  ['RECOVERING.FIXING', 'fix'],
  ['RECOVERING.SANITIZING', 'sanitize'],
  ['RECOVERING.ASKING_REPAIR_AGENT', 'fix-agent'],
  ['RECOVERING.SUBSTITUTING', 'substitute'],
  ['RECOVERING.RETRYING', 'retry'],
]);

/** Where a model turn continues after a failure. */
const ASKS_AGAIN: ReadonlySet<string> = new Set<PathOf<typeof llmCallMachine>>(['BACKING_OFF', 'FALLING_OVER']);

/**
 * Makes RunEvents from the microsteps of one run: the only place where they are made. A child agent's events are like the
 * root's, with its path; its beginning and end are those of the call that started it.
 */
export function runEventReader(options: ReaderOptions): (microstep: Microstep) => void {
  const readers = new Map<string, AgentReader>();
  const readerOf = (path: string): AgentReader => {
    const known = readers.get(path) ?? new AgentReader(options);
    readers.set(path, known);
    return known;
  };
  return (microstep) => {
    if (microstep.snapshot.status === 'stopped') return;
    if (microstep.machine === 'agent') readerOf(microstep.path).read(microstep);
    else if (microstep.machine === 'toolCall' || microstep.machine === 'llmCall')
      readerOf(microstep.path.slice(0, microstep.path.lastIndexOf('/'))).read(microstep);
    if (microstep.machine === 'agent' && microstep.snapshot.status === 'done') readers.delete(microstep.path);
  };
}

/** Reads the microsteps of one agent of the tree, its calls included. */
class AgentReader {
  readonly #options: ReaderOptions;
  readonly #began: number;
  /** When each call that runs was started, by its path. */
  readonly #running = new Map<string, number>();
  #before: AgentContext | null = null;
  /** The last reply: the steps after it, by the same event, may change what was read of it. */
  #replied: Replied | null = null;
  #state: AgentState = 'PLANNING';
  /** The place of the agent in the tree. */
  #place = '';
  /** The question that was asked last in this recovery. */
  #asked: Pick<RunEventBody & { readonly type: 'state.changed' }, 'callId' | 'answer'> = {};

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#began = options.now();
  }

  read(microstep: Microstep): void {
    if (microstep.machine === 'agent') this.#readAgent(microstep);
    else if (microstep.machine === 'toolCall') this.#readTool(microstep);
    else this.#readModel(microstep);
  }

  readonly #emit = (event: RunEventBody): void => this.#options.emit(event, this.#place);

  #readAgent(microstep: Microstep): void {
    const context: AgentContext = microstep.snapshot.context;
    this.#place = context.place.agent;
    if (this.#before === null && this.#place === '')
      this.#emit({
        type: 'run.started',
        runId: this.#options.runId,
        agent: context.runInfo?.agent ?? 'agent',
        task: context.task,
        maxSteps: context.settings.maxSteps,
      });
    if (this.#before?.runInfo?.warnings !== context.runInfo?.warnings)
      for (const message of context.runInfo?.warnings ?? []) this.#emit({ type: 'warning', message });
    readPermissions(this.#before, context, this.#emit);
    readMail(this.#before, context, this.#emit);
    readSteps(this.#before, context, this.#emit);
    const replied = repliedIn(microstep.event);
    if (context.reply !== null && replied !== null && replied !== this.#replied)
      readReplied(context, context.reply, (this.#replied = replied), this.#emit);
    readPlans(this.#before, context, this.#emit);
    const current = AGENT_STATES.find((state) => state === microstep.transition?.to.split('.')[0]);
    if (isIn<typeof agentMachine>(microstep.transition?.from ?? '', 'ERROR_RECOVERY.ASKING_HUMAN'))
      this.#asked = { ...this.#asked, answer: answerGiven(microstep.event) };
    if (current !== undefined && current !== this.#state) {
      const event = microstep.transition?.event ?? '';
      this.#emit({ type: 'state.changed', from: this.#state, to: current, event, ...this.#asked });
      [this.#state, this.#asked] = [current, {}];
    }
    this.#readEscalation(microstep, context);
    this.#before = context;
    if (microstep.snapshot.status === 'done' && this.#place === '')
      this.#readEnd(microstep.snapshot.output, this.#options.now() - this.#began);
  }

  /** What is decided about an escalation is a step of recovery, of the whole turn. */
  #readEscalation({ transition }: Microstep, { failure, place: { callPrefix }, stats, settings }: AgentContext): void {
    const verdict = failure?.verdict ?? null;
    const tool = failure?.escalation == null ? '' : toolHandedUp(failure.escalation);
    const callId = `${callPrefix}q${stats.verdicts.length}`;
    if (
      isAt<typeof agentMachine>(transition, 'ERROR_RECOVERY.ASKING_HUMAN') &&
      verdict !== null &&
      verdict !== 'unhandled'
    ) {
      const question = verdict.kind === 'askHuman' ? verdict.question : '';
      const asked = { callId, tool, args: { question }, reason: question, ...limitOf(settings) };
      this.#emit({ type: 'approval.requested', ...asked });
      this.#asked = { callId };
    }
    if (!isAt<typeof agentMachine>(transition, 'ERROR_RECOVERY.JUDGED')) return;
    const step = verdict === null || verdict === 'unhandled' ? 'unhandled' : verdict.kind;
    const error = failure?.escalation?.reason ?? '';
    this.#emit({ type: 'recovery.step', callId, tool, step, attempt: stats.verdicts.length, error });
  }

  #readEnd(output: AgentOutput, durationMs: number): void {
    const text = typeof output.output === 'string' ? output.output : output.result; // not as JSON
    if (output.success) this.#emit({ type: 'answer', text });
    this.#emit({
      type: 'run.finished',
      result: runResultOf(output, { runId: this.#options.runId, durationMs: Math.round(durationMs) }),
    });
  }

  #readTool(microstep: Microstep): void {
    const context: ToolCallContext = microstep.snapshot.context;
    const call = { callId: context.request.callId, tool: context.spec?.name ?? context.request.tool };
    const hasReached = (path: PathOf<typeof toolCallMachine>): boolean => isAt(microstep.transition, path);
    if (hasReached('RUNNING') || hasReached('DELEGATING')) {
      this.#running.set(microstep.path, this.#options.now());
      this.#emit({ type: 'tool.started', ...call, args: context.args });
    }
    if (hasReached('AWAITING_APPROVAL.ASKING')) {
      this.#emit({
        type: 'approval.requested',
        ...call,
        args: context.args,
        reason: askedBecause(context),
        ...limitOf(context.settings),
        ...(context.spec === null ? {} : { policy: context.spec.policy, ...sourceOf(context.spec) }),
      });
    }
    const step = RECOVERY_STEPS.get(microstep.transition?.to ?? '');
    if (step !== undefined)
      this.#emit({
        type: 'recovery.step',
        ...call,
        step,
        attempt: context.progress.taken,
        error: context.progress.attempts.at(-1)?.error ?? '',
      });
    const trouble = microstep.taken.some(({ eventType }) => eventType === microstep.event.type)
      ? troubleOfCode(microstep.event, call.tool)
      : null;
    if (trouble !== null) this.#emit({ type: 'warning', message: trouble });
    if (microstep.snapshot.status === 'done') {
      const started = this.#running.get(microstep.path);
      this.#running.delete(microstep.path);
      this.#readOutcome(microstep.snapshot.output, started === undefined ? 0 : this.#options.now() - started);
    }
  }

  #readOutcome(outcome: CallOutcome, durationMs: number): void {
    const { callId, tool, args, result } = outcome;
    if (outcome.kind === 'tool.escalated' && outcome.error.kind === 'escalation')
      this.#emit({
        type: 'escalation.raised',
        source: outcome.error.source,
        reason: outcome.error.reason,
        severity: outcome.error.severity,
      });
    if (outcome.kind === 'tool.denied')
      this.#emit({ type: 'tool.denied', callId, tool, args, reason: result.error ?? '' });
    else
      this.#emit({
        type: 'tool.finished',
        callId,
        tool,
        args,
        result,
        ok: outcome.kind === 'tool.succeeded',
        durationMs: Math.round(durationMs),
      });
  }

  #readModel(microstep: Microstep): void {
    const { error, attempts, shortened, leftOut, list, toolCalling }: LlmCallContext = microstep.snapshot.context;
    const isAskedAgain = microstep.snapshot.status === 'active';
    const failure = leafErrorOf(microstep.event);
    if (toolCalling === 'json' && isAskedAgain && failure.code === 'no-native-tools')
      this.#emit({ type: 'warning', message: `${failure.message} It is asked again with the JSON envelope.` });
    if ((shortened || leftOut > 0) && isAskedAgain && failure.code === 'context-overflow')
      this.#emit({ type: 'warning', message: leftOut === 0 ? SHORTENED : leftOutText(leftOut) });
    if (!ASKS_AGAIN.has(microstep.transition?.to ?? '') || error === null) return;
    const next = list === null ? {} : { next: askedModel(list)?.name ?? '' };
    const { code, message } = error;
    this.#emit({ type: 'model.retrying', attempt: attempts, error: { code, message }, ...next });
  }
}

type Emit = (event: RunEventBody) => void;
type Replied = Extract<LlmCallOutput, { readonly kind: 'model.replied' }>;

/** Messages from people: when each arrived and when the model received it. */
function readMail(before: AgentContext | null, { stats }: AgentContext, emit: Emit): void {
  const { received, delivered } = mailNews(before?.stats.mail ?? null, stats.mail);
  for (const message of received) emit({ type: 'message.received', ...message });
  for (const message of delivered) emit({ type: 'message.delivered', ...message });
}

/** Tools of servers that are not the ones any more that were always allowed. */
function readPermissions(before: AgentContext | null, { toolset }: AgentContext, emit: Emit): void {
  if (toolset === before?.toolset) return;
  const told = new Set(
    before?.toolset.tools.flatMap((tool) => (tool.changes === undefined ? [] : [permissionKey(tool)])),
  );
  for (const tool of toolset.tools) {
    const { name, origin, changes } = tool;
    if (changes === undefined || origin.kind !== 'mcp' || told.has(permissionKey(tool))) continue;
    emit({ type: 'permission.outdated', tool: name, server: origin.server, serverTool: origin.tool, changes });
  }
}

function readSteps(before: AgentContext | null, context: AgentContext, emit: Emit): void {
  if (context.stepsTaken > (before?.stepsTaken ?? 0)) {
    const kind = context.step !== null && context.step !== before?.step ? 'plan' : 'model';
    emit({ type: 'step.started', step: context.stepsTaken, limit: context.settings.maxSteps, kind });
  }
  if (context.step !== null && context.step !== before?.step) readVerdict(context.step, emit);
  if (context.batch !== null && (before?.batch ?? null) === null)
    for (const call of context.batch.calls) readVerdict(call, emit);
  if (before !== null)
    for (const error of context.stats.errorHistory.slice(before.stats.errorHistory.length))
      // A failed call has its own event.
      if (error.tool === undefined) emit({ type: 'warning', message: error.message });
}

function readVerdict({ request, verdict }: PlannedCall, emit: Emit): void {
  if (verdict !== 'clear') emit({ type: 'loop.suspected', callId: request.callId, tool: request.tool, verdict });
}

function readReplied(context: AgentContext, read: ReadReply, { reply, attempts }: Replied, emit: Emit): void {
  const { content: text, usage = null, stats = null, model, warnings = [] } = reply;
  const { nativeCalls: toolCalls, strategy, repairs, notRun } = read;
  const by = model === undefined ? {} : { model };
  const isAnswer = context.stats.unusableInARow === 0 && read.ended === null && read.output === null;
  const isSteered = isAnswer && isSteeredOn(context) && !endsWithWrittenCall(context);
  const goesOn = isSteered && read.answer !== null ? { answer: read.answer } : {};
  emit({ type: 'model.replied', text, toolCalls, usage, stats, ...by, attempts, strategy, repairs, ...goesOn });
  const isCounted = context.settings.budget.maxTokens === null || usage !== null || context.stepsTaken > 1;
  for (const message of [...warnings, ...(isCounted ? [] : [UNCOUNTED])]) emit({ type: 'warning', message });
  if (notRun !== null && (notRun.marked || ['envelope', 'bare-json'].includes(notRun.form))) {
    const message = `The reply holds a call of '${notRun.tool}' as text, which was not run: here toolCalling '${context.settings.toolCalling ?? 'auto'}' means textCalls '${notRun.textCalls}'. The option textCalls says which text may become a call.`;
    emit({ type: 'warning', code: 'text-call-not-run', message });
  }
  for (const type of ['thought', 'goal'] as const) if (read[type].trim() !== '') emit({ type, text: read[type] });
}

const SHORTENED = 'The conversation did not fit the model; older tool results were shortened.';
const leftOutText = (messages: number): string =>
  `The conversation did not fit the model; its oldest ${messages === 1 ? 'message was' : `${messages} messages were`} left out.`;
const UNCOUNTED = 'The model reports no tokens, so budget.maxTokens limits nothing. Set maxSteps and timeouts.totalMs.';

function repliedIn(event: Microstep['event']): Replied | null {
  const output: unknown = Reflect.get(event, 'output');
  return isJsonObject(output) && output.kind === 'model.replied' ? Reflect.get(event, 'output') : null;
}

function readPlans(before: AgentContext | null, context: AgentContext, emit: Emit): void {
  if (context.plan === null || context.stats.planIterations === (before?.stats.planIterations ?? 0)) return;
  emit({ type: 'plan.made', steps: context.plan.steps, iteration: context.stats.planIterations });
}
