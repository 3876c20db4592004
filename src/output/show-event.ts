import type { RunEvent } from '../machines/events/run-events.ts';
import { endingInWords } from '../machines/contract/run-result.ts';
import { isJsonObject } from '../json/json.ts';
import type { GuardedOutput } from './guard-output.ts';
import type { OutputStats } from './output-handler.ts';
import type { RunView } from './run-view.ts';

/** What is shown beyond the usual. */
export interface ShowOptions {
  readonly model: () => string;
  readonly stats: boolean;
  readonly debug: boolean;
}

/** An event of a run, with what was known of the run before and after it. */
export interface Shown {
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
      return output.warning(`Attempt ${event.attempt} at the model failed, trying again: ${event.error.message}`);
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
      return output.info(`Mending the call of ${event.tool}: ${event.step} (attempt ${event.attempt}).`);
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
  nudge: (tool: string) => `${tool} is called again and again without progress. The model is told so.`,
  refuse: (tool: string) => `${tool} is called again and again without progress. The call is refused.`,
} as const;

type Of<T extends RunEvent['type']> = Extract<RunEvent, { readonly type: T }>;

function showReply(output: GuardedOutput, event: Of<'model.replied'>, options: ShowOptions): void {
  if (options.debug)
    output.debug(`The reply was read as ${event.strategy}, after ${count(event.attempts, 'attempt')}.`);
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
  if (options.stats) {
    const stats: OutputStats = { scope: 'run', usage: result.usage, durationMs: result.durationMs };
    output.stats(stats);
  }
  output.completion(result.stepsTaken, result.stepsLimit);
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** Only what is new of the answer is shown: the envelope around it is not for people. */
function showToken(
  output: GuardedOutput,
  shown: string,
  { kind, answer }: Extract<RunEvent, { readonly type: 'model.token' }>,
): void {
  const fresh = answer.startsWith(shown) ? answer.slice(shown.length) : answer;
  if (kind === 'text' && fresh !== '') output.streamToken(fresh);
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

/** A server that is on its way says nothing yet. */
const PASSING: ReadonlySet<string> = new Set(['IDLE', 'CONNECTING', 'DISCOVERING', 'REFRESHING', 'STOPPED']);

function showServer(output: GuardedOutput, event: Extract<RunEvent, { readonly type: 'mcp.changed' }>): void {
  if (event.state === 'READY') output.info(`MCP server ${event.server} is ready: ${count(event.tools, 'tool')}.`);
  else if (event.step === 'AWAITING_USER')
    output.warning(`MCP server ${event.server} needs a person to sign in: 'signalbox mcp login ${event.server}'.`);
  else if (!PASSING.has(event.state) && event.step === null)
    output.warning(`MCP server ${event.server}: ${event.state}.`);
}
