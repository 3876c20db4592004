/**
 * Owns: a run as chunks of the AI SDK: one message, its steps and parts. Does not own: where the events come from.
 *
 * I1 The same events give the same chunks; tokens, times and durations are not part of them.
 * I2 A step has no part before the model's reply has been read: until then it can be reset, and nothing is lost.
 * I3 Each call that is shown ends: with its output, its error or its denial, and with the run at the latest.
 */
import { type Json, defined } from '../../json/json.ts';
import type { RunEvent } from '../../machines/events/run-events.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { EventFold } from '../base/event-groups.ts';
import { globalCallId, shownResult } from '../base/open-approvals.ts';
import { FINISH_REASONS, type UiChunk } from './ui-chunk.ts';

type Of<TType extends RunEvent['type']> = Extract<RunEvent, { readonly type: TType }>;

/** A call that a message shows and that has not ended. */
interface ShownCall {
  readonly toolCallId: string;
  readonly input: string;
  /** Under which it is asked about; null: it was answered, undefined: it was never asked. */
  readonly approvalId: string | null | undefined;
}

/** Turns the events of one run into chunks, as they come. */
export class UiStreamFold extends EventFold<UiChunk> {
  readonly #calls = new Map<string, ShownCall>();
  /** How many calls each child agent has made, by the call that it works for. */
  readonly #childCalls = new Map<string, number>();
  #step: 'none' | 'fresh' | 'used' = 'none';
  #number = 0;
  #blocks = 0;
  #plans = 0;

  /** What the model is saying may be shown: it stands alone in its step, which can be reset. */
  get isStreamable(): boolean {
    return this.#step === 'fresh' && !this.isOver;
  }

  /** A message's metadata while its run waits for people. `position` lets the answer continue from there. */
  waitingAt(position: number): object {
    return { signalbox: { runId: this.runId, position } };
  }

  /** Calls that run while people are asked, as approved: the AI SDK sends answers only if no other call is open. */
  get running(): readonly UiChunk[] {
    const running = [...this.#calls.values()].filter(({ approvalId }) => approvalId === undefined);
    return running.flatMap(({ toolCallId }) => decided(toolCallId, true));
  }

  protected override own(event: RunEvent): readonly UiChunk[] {
    switch (event.type) {
      case 'run.started':
        this.runId = event.runId;
        return [{ type: 'start', messageId: event.runId, messageMetadata: { signalbox: { runId: event.runId } } }];
      case 'step.started':
        this.#number = event.step;
        return this.#begin();
      case 'model.retrying':
        return this.isStreamable ? [{ type: 'reset-step' }] : [];
      case 'model.replied':
        this.said = event.answer ?? (event.toolCalls.length > 0 ? event.text.trim() : '');
        return [];
      case 'thought':
        return event.text.trim() === this.said ? [] : this.#block('reasoning', event.text);
      case 'plan.made':
        return this.#used([
          { type: 'data-signalbox-plan', id: `${this.runId}:plan${++this.#plans}`, data: { steps: event.steps } },
        ]);
      case 'message.delivered':
        return this.#steered(event);
      case 'answer':
        return this.#block('text', event.text);
      case 'run.finished':
        return this.#finish(event.result);
      default:
        return this.#call(event);
    }
  }

  /** The chunks about a call, of any agent. */
  #call(event: RunEvent): readonly UiChunk[] {
    switch (event.type) {
      case 'tool.started':
        return this.#started(event);
      case 'approval.requested':
        return this.#asked(event);
      case 'tool.denied':
        return [
          ...this.#shown(event),
          ...this.#answered(event.callId, false, event.reason),
          ...this.#end(event.callId, 'denied'),
        ];
      case 'tool.finished':
        return [
          ...this.#shown(event),
          ...this.#answered(event.callId, true),
          ...this.#end(event.callId, event.ok ? 'output' : 'error', shownResult(event.result), event.result.error),
        ];
      case 'state.changed': {
        const { callId = '', answer } = event;
        const isYes = answer === 'yes';
        return [...this.#answered(callId, isYes), ...this.#end(callId, isYes ? 'output' : 'denied')];
      }
      default:
        return [];
    }
  }

  /** Of a child agent's calls only those are shown as calls that a person is asked about; the others are counted. */
  protected override ofChild(event: RunEvent, child: string): readonly UiChunk[] {
    const isCall = event.type === 'tool.started' || event.type === 'tool.finished' || event.type === 'tool.denied';
    const chunks = event.type === 'approval.requested' || event.type === 'state.changed' ? this.#call(event) : [];
    if (!isCall) return chunks;
    const parent = event.callId.slice(0, Math.max(0, event.callId.lastIndexOf('.')));
    const calls = (this.#childCalls.get(parent) ?? 0) + (event.type === 'tool.started' ? 1 : 0);
    this.#childCalls.set(parent, calls);
    const data = { agent: child, tool: event.tool, isRunning: event.type === 'tool.started', calls };
    return [
      ...(this.#calls.has(event.callId) ? this.#call(event) : []),
      ...this.#used([{ type: 'data-signalbox-agent', id: globalCallId(this.runId, parent), data }]),
    ];
  }

  #begin(): readonly UiChunk[] {
    const chunks = this.#leave();
    this.#step = 'fresh';
    return [...chunks, { type: 'start-step' }];
  }

  #leave(): readonly UiChunk[] {
    const wasOpen = this.#step !== 'none';
    this.#step = 'none';
    return wasOpen ? [{ type: 'finish-step' }] : [];
  }

  /** Chunks that add a part to the step. */
  #used(chunks: readonly UiChunk[]): readonly UiChunk[] {
    if (this.#step === 'fresh') this.#step = 'used';
    return chunks;
  }

  #block(kind: 'text' | 'reasoning', text: string): readonly UiChunk[] {
    if (text === '') return [];
    const id = `${this.runId}:${++this.#blocks}`;
    return this.#used([
      { type: `${kind}-start`, id },
      { type: `${kind}-delta`, id, delta: text },
      { type: `${kind}-end`, id },
    ]);
  }

  protected override speak(text: string): readonly UiChunk[] {
    return this.#block('text', text);
  }

  /** A person's message is between the steps: a step that is reset leaves it. */
  #steered({ id, text, step }: Of<'message.delivered'>): readonly UiChunk[] {
    // The step that the message is for has begun, or is about to.
    const isFresh = this.#step === 'fresh' && this.#number === step;
    const said: UiChunk = { type: 'steering-message', id, parts: [{ type: 'text', text }] };
    const left = this.#leave();
    return isFresh ? [...left, said, ...this.#begin()] : [...left, said];
  }

  #shown({ callId, tool, args, child }: RunEvent & { callId: string; tool: string; args: Json }): readonly UiChunk[] {
    const input = JSON.stringify(args);
    const before = this.#calls.get(callId);
    if (before?.input === input) return [];
    const toolCallId = globalCallId(this.runId, callId);
    this.#calls.set(callId, { toolCallId, input, approvalId: before?.approvalId });
    const of = child === undefined ? {} : { dynamic: true, toolMetadata: { agent: child } };
    return this.#used([{ type: 'tool-input-available', toolCallId, toolName: tool, input: args, ...of }]);
  }

  #started(event: Of<'tool.started'>): readonly UiChunk[] {
    return [...this.#shown(event), ...this.#answered(event.callId, true)];
  }

  #asked(event: Of<'approval.requested'>): readonly UiChunk[] {
    this.approvals.take(event);
    const { callId, tool, reason, server, description } = event;
    const asked = this.approvals.of(callId);
    const shown = this.#shown({ ...event, tool: tool === '' ? 'question' : tool });
    const call = this.#calls.get(callId);
    if (asked === null || call === undefined) return shown;
    this.#calls.set(callId, { ...call, approvalId: asked.id });
    const source = server === undefined ? {} : { server, description };
    const { digest, isQuestion, policy, limitMs } = asked;
    const approvalDescriptor = { digest, isQuestion, editable: true, ...defined({ policy, limitMs, ...source }) };
    return [
      ...shown,
      { type: 'tool-approval-request', approvalId: asked.id, toolCallId: call.toolCallId, reason, approvalDescriptor },
    ];
  }

  /** To the AI SDK a denial is an answer, also that of a call which nobody was asked about. */
  #answered(callId: string, approved: boolean, reason?: string): readonly UiChunk[] {
    const call = this.#calls.get(callId);
    if (call === undefined || call.approvalId === null) return [];
    if (call.approvalId === undefined) return approved ? [] : decided(call.toolCallId, approved, reason);
    this.#calls.set(callId, { ...call, approvalId: null });
    return [{ type: 'tool-approval-response', approvalId: call.approvalId, approved, ...defined({ reason }) }];
  }

  #end(callId: string, how: 'output' | 'error' | 'denied', output: Json = null, error = ''): readonly UiChunk[] {
    const call = this.#calls.get(callId);
    if (call === undefined) return [];
    this.#calls.delete(callId);
    const { toolCallId } = call;
    if (how === 'denied') return [{ type: 'tool-output-denied', toolCallId }];
    if (how === 'output') return [{ type: 'tool-output-available', toolCallId, output }];
    return [{ type: 'tool-output-error', toolCallId, errorText: error === '' ? 'The call failed.' : error }];
  }

  #finish(result: AnyResult): readonly UiChunk[] {
    const { status, reason, result: text, partialAnswer = '', error, output, usage } = result;
    const open = [...this.#calls].flatMap(([callId, { approvalId }]) =>
      approvalId == null
        ? this.#end(callId, 'error', null, 'The run ended before this call did.')
        : [...this.#answered(callId, false, 'The run ended.'), ...this.#end(callId, 'denied')],
    );
    const words = this.#block('text', status === 'stopped' ? text : partialAnswer);
    const typed: readonly UiChunk[] =
      output === null ? [] : this.#used([{ type: 'data-signalbox-output', id: `${this.runId}:output`, data: output }]);
    const left = this.#leave();
    this.isOver = true;
    const failed: readonly UiChunk[] =
      status === 'failed' ? [{ type: 'error', errorText: error?.message ?? text }] : [];
    const aborted: readonly UiChunk[] =
      status === 'cancelled' ? [{ type: 'abort', reason: error?.message ?? 'cancelled' }] : [];
    const finishReason = status === 'failed' ? 'error' : (FINISH_REASONS[reason] ?? 'other');
    const messageMetadata = { signalbox: { runId: this.runId, status, reason, usage } };
    return [
      ...open,
      ...words,
      ...typed,
      ...left,
      ...aborted,
      ...failed,
      { type: 'finish', finishReason, messageMetadata },
    ];
  }
}

/** The answer to a call that the rules gave. */
function decided(toolCallId: string, approved: boolean, reason?: string): readonly UiChunk[] {
  return [
    { type: 'tool-approval-request', approvalId: toolCallId, toolCallId, isAutomatic: true },
    { type: 'tool-approval-response', approvalId: toolCallId, approved, ...defined({ reason }) },
  ];
}
