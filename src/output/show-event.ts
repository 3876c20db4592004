import { type RunEvent, addedTo } from '../machines/events/run-events.ts';
import { endingInWords } from '../machines/contract/run-result.ts';
import { isJsonObject } from '../json/json.ts';
import type { PlanStep } from '../parsing/calls/call-forms.ts';
import { counted } from '../terminal/text-width.ts';
import type { GuardedOutput } from './output-handler.ts';

/** What is shown beyond the usual. */
export interface ShowOptions {
  readonly model: () => string;
  readonly stats: boolean;
  readonly debug: boolean;
}

/** An event of a run, with what was known of the run before and after it. */
interface Shown {
  readonly event: RunEvent;
  readonly before: RunView;
  readonly after: RunView;
}

/** Shows one event on an output. Waiting and the end of a stream are not its business. */
export function showEvent(output: GuardedOutput, { event, before, after }: Shown, options: ShowOptions): void {
  switch (event.type) {
    case 'run.started':
      return output.processingStart(event.task, event.maxSteps, options.model());
    case 'step.started':
      output.stepHeader(event.step, event.limit);
      // The first step is shown with the plan itself.
      if (after.plan !== null && after.plan.current > 0) output.plan(after.plan.steps, after.plan.current);
      return;
    case 'state.changed':
      return output.stateInfo(`${event.event}: ${event.from} → ${event.to}`);
    case 'model.token':
      return showToken(output, before.answer, event);
    case 'model.replied':
      return showReply(output, event, options);
    case 'model.retrying':
      return output.warning(retryText(event));
    case 'message.received':
      return output.info(`Message for the next ${event.kind === 'steer' ? 'step' : 'run'}: ${event.text}`);
    case 'thought':
      return output.thought(event.text);
    case 'goal':
      return output.goal(event.text);
    case 'plan.made':
      return output.plan(event.steps, 0);
    case 'tool.started':
      return showCall(output, event);
    case 'tool.finished':
      return showOutcome(output, event, before);
    case 'tool.progress':
      // What is being waited for says it.
      return;
    case 'question.asked':
      return output.info(questionText(event));
    case 'question.answered':
      return output.info(answerText(event));
    case 'tool.denied':
      return output.warning(
        event.reason.includes(event.tool) ? event.reason : `${event.tool} was not run: ${event.reason}`,
      );
    case 'approval.requested':
      return output.info(`${event.tool} waits for approval. ${event.reason}`);
    case 'permission.outdated':
      return output.warning(
        `${event.tool} has changed since it was always allowed (${event.changes.map(({ what }) => what).join(', ')}): it is asked about again.`,
      );
    case 'recovery.step':
      return output.info(`Repairing the call of ${event.tool}: ${event.step} (attempt ${event.attempt}).`);
    case 'escalation.raised':
      return output.warning(`${event.source} escalates (${event.severity}): ${event.reason}`);
    case 'loop.suspected':
      return output.warning(LOOP_TEXT[event.verdict](event.tool));
    case 'mcp.changed':
      return showServer(output, event);
    case 'mcp.log':
      return showLog(output, event, options);
    case 'answer':
      return output.finalAnswer(event.text);
    case 'warning':
      return output.warning(event.message);
    case 'run.finished':
      return showEnd(output, event, options);
  }
}

function questionText({ kind, server, message, origin }: Of<'question.asked'>): string {
  if (origin !== undefined) return `MCP server ${server} asks a person to open a page at ${origin}: ${message}`;
  return kind === 'sampling'
    ? `MCP server ${server} asks the model: ${message}`
    : `MCP server ${server} asks: ${message}`;
}

function answerText({ kind, server, action }: Of<'question.answered'>): string {
  const given = kind === 'sampling' ? 'got a reply' : 'got an answer';
  return `MCP server ${server} ${action === 'accept' ? given : 'got none'}.`;
}

const LOOP_TEXT = {
  nudge: (tool: string) => `${tool} is called repeatedly without progress. The model was warned.`,
  refuse: (tool: string) => `${tool} is called repeatedly without progress. The call is refused.`,
} as const;

type Of<T extends RunEvent['type']> = Extract<RunEvent, { readonly type: T }>;

function showReply(output: GuardedOutput, event: Of<'model.replied'>, options: ShowOptions): void {
  if (options.debug)
    output.debug(`The reply was read as ${event.strategy}, after ${counted(event.attempts, 'attempt')}.`);
  for (const repair of options.debug ? event.repairs : []) output.debug(`Repaired: ${repair.message}`);
  if (!options.stats || (event.usage === null && event.stats === null)) return;
  output.stats({ scope: 'reply', usage: event.usage, ...event.stats });
}

function showCall(output: GuardedOutput, { tool, args }: { readonly tool: string; readonly args: unknown }): void {
  output.toolUsage(tool);
  output.json(args, 'Arguments');
}

function showOutcome(output: GuardedOutput, event: Of<'tool.finished'>, before: RunView): void {
  // A call that never ran, such as one of an unknown tool, has not been shown yet.
  if (!before.running.has(event.callId)) showCall(output, event);
  output.toolComplete();
  if (event.ok) output.json(event.result, before.running.size > 1 ? `Result of ${callText(event)}` : 'Result');
  else output.error(event.result.error ?? event.result.message ?? `${event.tool} failed.`);
}

/** Names one call among several that run at once. */
function callText({ tool, args }: Of<'tool.finished'>): string {
  const values = isJsonObject(args) ? Object.values(args).filter((value) => typeof value !== 'object') : [];
  const text = values.map(String).join(', ');
  return `${tool}(${text.length > MAX_CALL_TEXT ? `${text.slice(0, MAX_CALL_TEXT)}…` : text})`;
}

const MAX_CALL_TEXT = 40;

function showEnd(output: GuardedOutput, { result }: Of<'run.finished'>, options: ShowOptions): void {
  if (result.status === 'failed') output.error(endingInWords(result));
  else if (!result.success) output.warning(endingInWords(result));
  if (options.stats) output.stats({ scope: 'run', usage: result.usage, durationMs: result.durationMs });
  output.completion(result.stepsTaken, result.stepsLimit);
}

/** Only what is new of the answer is shown: the envelope around it is not for people. */
function showToken(output: GuardedOutput, shown: string, { kind, answer }: Of<'model.token'>): void {
  const fresh = addedTo(shown, answer) ?? answer;
  // A copy: V8 lets a part of a text hold all of it, and an output may keep what it is given.
  if (kind === 'text' && fresh !== '') output.streamToken(Array.from(fresh).join(''));
}

function showLog(
  output: GuardedOutput,
  { server, level, grave, message }: Of<'mcp.log'>,
  { debug }: ShowOptions,
): void {
  const text = `MCP server ${server} (${level}): ${message}`;
  if (grave) output.warning(text);
  else if (debug) output.debug(text);
}

/** A server that is still connecting shows nothing yet. */
const PASSING: ReadonlySet<string> = new Set(['IDLE', 'CONNECTING', 'DISCOVERING', 'REFRESHING', 'STOPPED']);

function showServer(output: GuardedOutput, event: Of<'mcp.changed'>): void {
  if (event.state === 'READY') output.info(`MCP server ${event.server} is ready: ${counted(event.tools, 'tool')}.`);
  else if (event.step === 'AWAITING_USER')
    output.warning(`MCP server ${event.server} needs a person to sign in: 'signalbox mcp login ${event.server}'.`);
  else if (!PASSING.has(event.state) && event.step === null)
    output.warning(`MCP server ${event.server}: ${event.state}.`);
}

/** What an output must know of a run to show its next event. */
interface RunView {
  readonly plan: { readonly steps: readonly PlanStep[]; readonly current: number } | null;
  /** Calls that run now, by id. */
  readonly running: ReadonlyMap<string, string>;
  /** Calls that wait for a person. */
  readonly asking: ReadonlySet<string>;
  /** What the model is busy with, or null. */
  readonly model: string | null;
  /** A reply is arriving, piece by piece. */
  readonly streaming: boolean;
  /** What of the answer has arrived in the reply that streams. */
  readonly answer: string;
}

/** A run of which nothing is known yet. */
export const EMPTY_VIEW: RunView = {
  plan: null,
  running: new Map(),
  asking: new Set(),
  model: null,
  streaming: false,
  answer: '',
};

/** The view after an event. */
export function advanceView(view: RunView, event: RunEvent): RunView {
  switch (event.type) {
    case 'run.started':
    case 'run.finished':
      return EMPTY_VIEW;
    case 'step.started':
      return event.kind === 'model' ? { ...view, model: 'Thinking' } : { ...view, plan: nextStep(view.plan) };
    case 'plan.made':
      return { ...view, plan: { steps: event.steps, current: -1 } };
    case 'model.token':
      return event.answer === '' ? view : { ...view, streaming: true, answer: event.answer };
    case 'model.retrying':
      return { ...view, model: 'Trying the model again', streaming: false, answer: '' };
    case 'model.replied':
      return { ...view, model: null, streaming: false, answer: '' };
    case 'state.changed':
      // Nothing more of a reply comes once the agent has moved on, answered or cancelled.
      return event.to === 'PLANNING'
        ? { ...view, streaming: false, plan: null }
        : { ...view, streaming: false, model: null };
    case 'approval.requested':
    case 'question.asked':
      return { ...view, asking: new Set(view.asking).add(event.callId) };
    case 'tool.started':
      return { ...without(view, event.callId), running: new Map(view.running).set(event.callId, event.tool) };
    case 'tool.progress':
      return { ...view, running: new Map(view.running).set(event.callId, `${event.tool} ${stepText(event)}`) };
    case 'question.answered':
      return { ...view, asking: new Set([...view.asking].filter((callId) => callId !== event.callId)) };
    case 'tool.finished':
    case 'tool.denied':
      return without(view, event.callId);
    default:
      return view;
  }
}

/** What is being waited for, in words; null while nothing is, while a reply streams, and while a person is asked. */
export function waitingFor({ asking, running, model, streaming }: RunView): string | null {
  if (asking.size > 0 || streaming) return null;
  if (running.size > 0) return `Running ${[...running.values()].join(', ')}`;
  return model;
}

function stepText({ progress, total, message }: Of<'tool.progress'>): string {
  const step = total === null ? String(progress) : `${progress} of ${total}`;
  return message === null ? `(${step})` : `(${step}: ${message})`;
}

function nextStep(plan: RunView['plan']): RunView['plan'] {
  return plan === null ? null : { ...plan, current: plan.current + 1 };
}

function without(view: RunView, callId: string): RunView {
  const running = new Map(view.running);
  const asking = new Set(view.asking);
  running.delete(callId);
  asking.delete(callId);
  return { ...view, running, asking };
}

function retryText({ attempt, error, next }: Of<'model.retrying'>): string {
  if (error.code === 'circuit-open' && next !== undefined) return `Asking ${next}: ${error.message}`;
  const now = next === undefined ? 'trying again' : `asking ${next}`;
  return `Attempt ${attempt} at the model failed, ${now}: ${error.message}`;
}
