import type { EventGroup } from '../base/event-groups.ts';
import type { GroupBatch } from '../base/follow-groups.ts';
import { type ClientRun, type RunClient, clientTexts, RunViewer } from '../base/client-texts.ts';
import type { LiveText, RunRefused } from '../base/run-feed.ts';
import { type SsePosition, sseText, sseTextAfter, unrecorded } from '../base/sse.ts';
import { parsedText } from '../../json/json.ts';
import { addedTo } from '../../machines/events/run-events.ts';
import type { UiChunk } from './ui-chunk.ts';
import { UiStreamFold } from './ui-stream-fold.ts';

/** What of a run is sent to a client, from where on. */
export interface UiTextsOptions extends ClientRun {
  /** How far the client is. */
  readonly after: SsePosition;
  /** Sends where the run is, too (`data-signalbox-state`). */
  readonly state: boolean;
}

/** Behind everything, as the AI SDK has it. */
const DONE = 'data: [DONE]\n\n';

/** A run as a UI message stream. It ends with the run, and for now where that waits for people only. */
export async function* uiTexts({ after, state, ...run }: UiTextsOptions): AsyncGenerator<string> {
  yield* clientTexts(new UiClient(after, state), run);
  yield DONE;
}

/** The stream of a message that was refused when its stream had begun. */
export function refusedTexts(body: string): string {
  const { error }: { readonly error?: Partial<RunRefused> } = Object(parsedText(body));
  return unrecorded([{ type: 'error', errorText: error?.message ?? body }]) + DONE;
}

class UiClient implements RunClient {
  readonly #fold = new UiStreamFold();
  readonly #live = new UiLiveText();
  readonly #viewer: RunViewer | null;
  readonly #after: SsePosition;
  /** It may have been shown what a model said at the place where it continues. */
  #mayHaveMore: boolean;
  #position = 0;
  #viewed = '';
  isOver = false;
  /** What the client has of the step in which it continues. */
  #step: readonly UiChunk[] = [];

  constructor(after: SsePosition, state: boolean) {
    this.#after = after;
    this.#mayHaveMore = after.line > 0;
    this.#viewer = state ? new RunViewer() : null;
  }

  /** The provisional end of a message whose run waits for people. `position` lets the answer continue from here. */
  ended(): string {
    const messageMetadata = this.#fold.waitingAt(this.#position);
    return unrecorded([...this.#fold.running, { type: 'finish', finishReason: 'tool-calls', messageMetadata }]);
  }

  refused({ message }: RunRefused): string {
    return unrecorded([{ type: 'error', errorText: message }]);
  }

  batch({ groups, run }: GroupBatch): string {
    const texts: string[] = [];
    for (const group of groups) {
      const isUnderWay = group.position > this.#after.line && !this.#fold.isOver;
      const text = this.#group(group);
      // Before the part that ends the message.
      if (this.#viewer !== null && isUnderWay && this.#fold.isOver) texts.push(this.#view(run.path, this.#viewer));
      texts.push(text);
    }
    const isThere = run.position >= this.#after.line;
    if (isThere) texts.push(this.#cleared());
    this.#position = run.position;
    if (this.#viewer !== null && isThere && !this.#fold.isOver) texts.push(this.#view(run.path, this.#viewer));
    if (run.problem !== null) texts.push(unrecorded([{ type: 'error', errorText: run.problem }]));
    this.isOver = run.isOver || run.problem !== null;
    return texts.join('');
  }

  #group(group: EventGroup): string {
    const before = group.position > this.#after.line ? this.#cleared() : '';
    for (const event of group.events) this.#viewer?.take(event);
    const data = this.#fold.feed(group.events);
    const text = data.length === 0 ? '' : this.#rest(group.position, data);
    return before + (text === '' ? '' : unrecorded(this.#live.takeBack()) + text);
  }

  /** What of a group the client does not have. A part that it has only half of is sent again, with its step. */
  #rest(position: number, data: readonly UiChunk[]): string {
    const { line, messages } = this.#after;
    if (position > line) return sseText({ position, data });
    const has = position === line && messages !== null ? data.slice(0, messages) : data;
    const half = /^(?:text|reasoning)-(?:start|delta)$/.test(has.at(-1)?.type ?? '');
    const opened = has.findLastIndex(({ type }) => type.endsWith('-start'));
    const whole = half ? has.slice(0, opened) : has;
    const all = [...this.#step, ...whole];
    this.#step = all.slice(all.findLastIndex(({ type }) => type === 'start-step') + 1);
    const again: readonly UiChunk[] = half ? [{ type: 'reset-step' }, ...this.#step] : [];
    return unrecorded(again) + sseTextAfter({ position, data }, { line, messages: half ? whole.length : messages });
  }

  /** Takes back what a client may have been shown before it was cut off. */
  #cleared(): string {
    const clears = this.#mayHaveMore && this.#fold.isStreamable;
    this.#mayHaveMore = false;
    return clears ? unrecorded([{ type: 'reset-step' }]) : '';
  }

  said(text: LiveText): string {
    if (text.seq !== this.#fold.seq || !this.#fold.isStreamable || this.#mayHaveMore) return '';
    return unrecorded(this.#live.show(text));
  }

  #view(path: string, viewer: RunViewer): string {
    const data = viewer.view(path, this.#fold.approvals.list);
    const viewed = JSON.stringify(data);
    if (viewed === this.#viewed) return '';
    this.#viewed = viewed;
    return unrecorded([{ type: 'data-signalbox-state', transient: true, data }]);
  }
}

/**
 * What one client is shown of a reply while the model writes it. It is not recorded: the group of the reply has all of
 * it, and what was shown before is removed first.
 */
class UiLiveText {
  #shown: Pick<LiveText, 'attempt' | 'thought' | 'answer'> | null = null;
  #count = 0;
  #open: { readonly kind: 'text' | 'reasoning'; readonly id: string } | null = null;

  show(text: LiveText): readonly UiChunk[] {
    const before = this.#shown ?? { attempt: text.attempt, thought: '', answer: '' };
    const [thought, answer] = [addedTo(before.thought, text.thought), addedTo(before.answer, text.answer)];
    if (before.attempt !== text.attempt || thought === null || answer === null)
      return [...this.takeBack(), ...this.show(text)];
    this.#shown = text;
    return [...this.#add('reasoning', thought), ...this.#add('text', answer)];
  }

  takeBack(): readonly UiChunk[] {
    const wasShown = this.#shown !== null;
    this.#shown = null;
    this.#open = null;
    return wasShown ? [{ type: 'reset-step' }] : [];
  }

  #add(kind: 'text' | 'reasoning', delta: string): readonly UiChunk[] {
    if (delta === '') return [];
    const before = this.#open;
    if (before?.kind === kind) return [{ type: `${kind}-delta`, id: before.id, delta }];
    const id = `live:${++this.#count}`;
    this.#open = { kind, id };
    const end: readonly UiChunk[] = before === null ? [] : [{ type: `${before.kind}-end`, id: before.id }];
    return [...end, { type: `${kind}-start`, id }, { type: `${kind}-delta`, id, delta }];
  }
}
