/**
 * Owns: a run as AG-UI events: its steps, messages, calls and subagents. Does not own: where the events come from.
 *
 * I1 The same events give the same AG-UI events; tokens, times and durations are not part of them.
 * I2 All that is opened by a record is closed by it, but for steps and subagents, which last.
 * I3 Each call that is shown has a result, with the run's end at the latest.
 */
import type { Json } from '../../json/json.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { EventFold } from '../base/event-groups.ts';
import { QUESTION_ENDS, globalCallId, shownResult } from '../base/open-approvals.ts';
import type { AgEvent, AgUsage } from './ag-event.ts';

type Of<TType extends RunEvent['type']> = Extract<RunEvent, { readonly type: TType }>;
type Call = RunEvent & { readonly callId: string; readonly tool: string; readonly args: Json };

/** What the run of AG-UI is called. Default: as the run of ours. */
export interface AgNames {
  readonly threadId?: string;
  readonly runId?: string;
}

/** Turns the events of one run into events of AG-UI, as they come. */
export class AgUiFold extends EventFold<AgEvent> {
  readonly #names: AgNames;
  /** It is for a client before AG-UI 1.0. */
  readonly isOld: boolean;
  /** The calls that are shown and have no result yet; of each, the subagent that it belongs to. */
  readonly #calls = new Map<string, string | undefined>();
  /** Subagents that are at work, by the calls that they work for. */
  readonly #subagents = new Set<string>();
  /** The paths of child agents that have begun. */
  readonly #children = new Set<string>();
  /** The calls that run, with the subagent that they belong to and the path of the agent that their tool would be. */
  readonly #running = new Map<
    string,
    { readonly tool: string; readonly path: string; readonly parent: string | undefined }
  >();
  #step = '';
  #attempt = 0;
  #isStreamable = false;
  #plans = 0;

  constructor(names: AgNames = {}, isOld = false) {
    super();
    this.#names = names;
    this.isOld = isOld;
  }

  /** The model is asked, and nothing of this step has been emitted yet. */
  get isStreamable(): boolean {
    return this.#isStreamable && !this.isOver;
  }

  /** The message that a reply is, in this attempt of this step. */
  get messageId(): string {
    return `${this.runId}:${this.#step}.${this.#attempt}`;
  }

  /** What the run of AG-UI is called. */
  get names(): Required<AgNames> {
    return { threadId: this.#names.threadId ?? this.runId, runId: this.#names.runId ?? this.runId };
  }

  /** The id of a call that is unique among all runs. */
  globalId(callId: string): string {
    return globalCallId(this.runId, callId);
  }

  protected override own(event: RunEvent): readonly AgEvent[] {
    switch (event.type) {
      case 'run.started':
        this.runId = event.runId;
        return [{ type: 'RUN_STARTED', ...this.names }];
      case 'step.started':
        return this.#begin(event);
      case 'model.retrying':
        this.#attempt += 1;
        return [];
      case 'model.replied':
        this.#isStreamable = false;
        this.said = event.answer ?? (event.toolCalls.length > 0 ? event.text.trim() : '');
        return [];
      case 'thought':
        return event.text.trim() === this.said ? [] : this.#thought(event.text);
      case 'plan.made': {
        const messageId = `${this.runId}:plan${++this.#plans}`;
        return [{ type: 'ACTIVITY_SNAPSHOT', messageId, activityType: 'PLAN', content: { steps: event.steps } }];
      }
      case 'message.delivered':
        return message(`${this.runId}:said:${event.id}`, 'user', event.text);
      case 'answer':
        return message(this.messageId, 'assistant', event.text);
      case 'run.finished':
        return this.#finish(event.result);
      default:
        return this.#call(event, undefined);
    }
  }

  protected override ofChild(event: RunEvent, child: string): readonly AgEvent[] {
    const isFirst = !this.#children.has(child);
    this.#children.add(child);
    const begun = isFirst ? [...this.#running.keys()].flatMap((callId) => this.#delegated(callId)) : [];
    const callId = ('callId' in event && event.callId) || '';
    return [...begun, ...this.#call(event, callId.slice(0, Math.max(0, callId.lastIndexOf('.'))))];
  }

  /** The events about a call, of the root or of the subagent that works for the call `parent`. */
  #call(event: RunEvent, parent: string | undefined): readonly AgEvent[] {
    switch (event.type) {
      case 'tool.started':
        return [...this.#shown(event, parent), ...this.#started(event, parent)];
      case 'approval.requested':
        return this.#shown({ ...event, tool: event.tool === '' ? 'question' : event.tool }, parent);
      case 'tool.denied':
        return [...this.#shown(event, parent), ...this.#result(event.callId, event.reason)];
      case 'tool.finished': {
        const content = event.ok ? textOf(shownResult(event.result)) : (event.result.error ?? 'The call failed.');
        return [...this.#shown(event, parent), ...this.#worked(event), ...this.#result(event.callId, content)];
      }
      case 'state.changed':
        return this.#result(event.callId ?? '', QUESTION_ENDS[event.answer ?? 'none']);
      default:
        return [];
    }
  }

  #begin({ step, kind }: Of<'step.started'>): readonly AgEvent[] {
    const left = this.#leave();
    this.#step = String(step);
    this.#attempt = 1;
    this.#isStreamable = kind === 'model';
    return [...left, { type: 'STEP_STARTED', stepName: `step ${this.#step}` }];
  }

  #leave(): readonly AgEvent[] {
    const stepName = `step ${this.#step}`;
    const wasOpen = this.#step !== '';
    this.#step = '';
    return wasOpen ? [{ type: 'STEP_FINISHED', stepName }] : [];
  }

  #thought(text: string): readonly AgEvent[] {
    const messageId = `${this.messageId}:thought`;
    return [
      { type: 'REASONING_START', messageId },
      { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
      { type: 'REASONING_MESSAGE_CONTENT', messageId, delta: text },
      { type: 'REASONING_MESSAGE_END', messageId },
      { type: 'REASONING_END', messageId },
    ];
  }

  protected override speak(text: string): readonly AgEvent[] {
    return message(this.messageId, 'assistant', text);
  }

  #shown({ callId, tool, args }: Call, parent: string | undefined): readonly AgEvent[] {
    if (this.#calls.has(callId)) return [];
    this.#calls.set(callId, parent);
    const toolCallId = this.globalId(callId);
    const of = this.#of(parent);
    const parentMessageId = parent === undefined ? this.messageId : `${this.globalId(parent)}:calls`;
    return [
      { type: 'TOOL_CALL_START', toolCallId, toolCallName: tool, parentMessageId, ...of },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(args), ...of },
      { type: 'TOOL_CALL_END', toolCallId, ...of },
    ];
  }

  #of(parent: string | undefined): { readonly subagentRunId?: string } {
    return parent === undefined ? {} : { subagentRunId: this.globalId(parent) };
  }

  #started({ callId, tool, child }: Of<'tool.started'>, parent: string | undefined): readonly AgEvent[] {
    this.#running.set(callId, { tool, path: child === undefined ? tool : `${child}/${tool}`, parent });
    return this.#delegated(callId);
  }

  /** A call of a tool that is a child agent is that agent's work: known once that has begun. */
  #delegated(callId: string): readonly AgEvent[] {
    const running = this.#running.get(callId);
    if (running === undefined || !this.#children.has(running.path) || this.#subagents.has(callId)) return [];
    const { tool, parent } = running;
    this.#subagents.add(callId);
    const above = parent === undefined ? {} : { parentSubagentRunId: this.globalId(parent) };
    const subagentRunId = this.globalId(callId);
    return [{ type: 'SUBAGENT_STARTED', subagentRunId, name: tool, parentToolCallId: subagentRunId, ...above }];
  }

  #worked({ callId, ok, result }: Of<'tool.finished'>): readonly AgEvent[] {
    this.#running.delete(callId);
    if (!this.#subagents.delete(callId)) return [];
    const subagentRunId = this.globalId(callId);
    return ok
      ? [{ type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'success' } }]
      : [{ type: 'SUBAGENT_ERROR', subagentRunId, message: result.error ?? 'The agent failed.' }];
  }

  #result(callId: string, content: string): readonly AgEvent[] {
    if (!this.#calls.has(callId)) return [];
    const of = this.#of(this.#calls.get(callId));
    this.#calls.delete(callId);
    const toolCallId = this.globalId(callId);
    return [{ type: 'TOOL_CALL_RESULT', messageId: resultId(toolCallId), toolCallId, content, role: 'tool', ...of }];
  }

  #finish(result: AnyResult): readonly AgEvent[] {
    const { status, reason, result: text, partialAnswer = '', output, error } = result;
    const said = message(this.messageId, 'assistant', status === 'stopped' ? text : partialAnswer);
    const results = [...this.#calls.keys()].flatMap((callId) =>
      this.#result(callId, 'The run ended before this call did.'),
    );
    const subagents = [...this.#subagents].map((callId): AgEvent => {
      return { type: 'SUBAGENT_ERROR', subagentRunId: this.globalId(callId), message: 'The run ended.' };
    });
    const left = [...results, ...said, ...subagents, ...this.#leave()];
    this.isOver = true;
    const isCancelled = status === 'cancelled';
    if (status === 'failed')
      return [...left, { type: 'RUN_ERROR', message: error?.message ?? text, code: error?.code ?? reason }];
    return [
      ...left,
      {
        type: 'RUN_FINISHED',
        ...this.names,
        // Clients before 1.0 know of no cancelled outcome, and fail; the result says it.
        ...(isCancelled && this.isOld ? {} : { outcome: { type: isCancelled ? 'cancelled' : 'success' } }),
        result: { status, reason, ...(output === null ? {} : { output }) },
        usage: usageOf(result),
      },
    ];
  }
}

/** The id of the message that has the result of a call. */
export function resultId(toolCallId: string): string {
  return `${toolCallId}:result`;
}

function message(messageId: string, role: 'assistant' | 'user', text: string): readonly AgEvent[] {
  if (text === '') return [];
  return [
    { type: 'TEXT_MESSAGE_START', messageId, role },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: text },
    { type: 'TEXT_MESSAGE_END', messageId },
  ];
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function usageOf({ usage }: AnyResult): readonly AgUsage[] {
  const { byModel, inputTokens, outputTokens, totalTokens } = usage;
  if (byModel === undefined) return [{ inputTokens, outputTokens, totalTokens }];
  return Object.entries(byModel).map(([model, of]) => ({
    model,
    inputTokens: of.inputTokens,
    outputTokens: of.outputTokens,
    totalTokens: of.totalTokens,
  }));
}
