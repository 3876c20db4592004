import { addedTo } from '../../machines/events/run-events.ts';
import type { EventGroup } from '../base/event-groups.ts';
import type { GroupBatch } from '../base/follow-groups.ts';
import type { LiveText, RunRefused } from '../base/run-feed.ts';
import { type RunView, RunViewer, type ClientRun, type RunClient, clientTexts } from '../base/client-texts.ts';
import { type SsePosition, sseText, sseTextAfter, unrecorded } from '../base/sse.ts';
import { AgDocument } from './ag-messages.ts';
import { type AgEvent, interruptOf } from './ag-event.ts';
import { AgUiFold, type AgNames } from './ag-ui-fold.ts';

/** What of a run is sent to a client, from where on. */
export interface AgTextsOptions extends ClientRun {
  readonly names: Required<AgNames>;
  /** It is a client before AG-UI 1.0. Default false. */
  readonly isOld?: boolean;
  /** How far the client is. */
  readonly after: SsePosition;
  /** The messages that it has, or is to have before those of the run. */
  readonly posted: readonly object[];
  /** It has none of them yet, or others, too: they are sent first. Default false. */
  readonly isNew?: boolean;
  /** Where the run is, in the client's state; null: it is not sent. */
  readonly state: object | null;
}

/**
 * A run as a stream of AG-UI, which is whole by itself: it begins with RUN_STARTED, opens again what is open, and ends with the
 * run, or with an interrupt where that waits for people only.
 */
export function agTexts({ journal, runId, signal, resumed = null, ...client }: AgTextsOptions): AsyncGenerator<string> {
  return clientTexts(new AgClient(runId, client), { journal, runId, signal, resumed });
}

class AgClient implements RunClient {
  readonly #names: Required<AgNames>;
  readonly #fold: AgUiFold;
  readonly #document = new AgDocument();
  readonly #viewer: RunViewer | null;
  readonly #state: object | null;
  readonly #after: SsePosition;
  /** The messages of the client that are not of this run. */
  readonly #others: readonly object[];
  /** The client has some of this run's messages already, or not even those before it. */
  readonly #hasSome: boolean;
  /** Its messages are not those that were posted. */
  readonly #isNew: boolean;
  /** When each call was asked about, as it is recorded. */
  readonly #askedAt = new Map<string, number>();
  #hasBegun = false;
  /** The message that is shown while the model replies, and how much of it. */
  #live: { readonly messageId: string; readonly answer: string } | null = null;
  #view: RunView | null = null;
  isOver = false;

  constructor(runId: string, options: Omit<AgTextsOptions, keyof ClientRun>) {
    const { names, isOld, after, posted, state, isNew = false } = options;
    this.#names = names;
    this.#fold = new AgUiFold(names, isOld);
    this.#viewer = state === null ? null : new RunViewer();
    this.#state = state;
    this.#after = after;
    const isOurs = (message: object): boolean => String(Reflect.get(message, 'id')).startsWith(`${runId}:`);
    const isListed = (message: object): boolean =>
      !/^(?:activity|reasoning)$/.test(String(Reflect.get(message, 'role')));
    this.#others = posted.filter((message) => !isOurs(message) && isListed(message));
    this.#isNew = isNew;
    this.#hasSome = isNew || posted.some(isOurs);
  }

  /** The end for now: what the run waits for, as interrupts. */
  ended(): string {
    const globalId = (callId: string): string => this.#fold.globalId(callId);
    const interrupts = this.#fold.approvals.list.map((asked) =>
      interruptOf(asked, { askedAt: this.#askedAt.get(asked.callId), globalId }),
    );
    return unrecorded([
      ...this.#takenBack(),
      ...this.#document.suspended(interrupts),
      { type: 'RUN_FINISHED', ...this.#names, outcome: { type: 'interrupt', interrupts } },
    ]);
  }

  refused(why: RunRefused): string {
    return this.#begun() + unrecorded([...this.#takenBack(), { type: 'RUN_ERROR', ...why }]);
  }

  batch({ groups, run }: GroupBatch): string {
    const began = Date.parse(run.head?.at ?? '');
    for (const { at, events } of groups)
      for (const event of events) if (event.type === 'approval.requested') this.#askedAt.set(event.callId, began + at);
    const texts: string[] = [];
    for (const group of groups) {
      const isUnderWay = this.#hasBegun && !this.#fold.isOver;
      const text = this.#group(group);
      // Nothing may come after the end of a run.
      if (this.#viewer !== null && isUnderWay && this.#fold.isOver) texts.push(this.#viewed(run.path, this.#viewer));
      texts.push(text);
    }
    if (run.position >= this.#after.line) texts.push(this.#begun());
    if (this.#viewer !== null && this.#hasBegun && !this.#fold.isOver) texts.push(this.#viewed(run.path, this.#viewer));
    if (run.problem !== null) texts.push(unrecorded([{ type: 'RUN_ERROR', message: run.problem }]));
    this.isOver = run.isOver || run.problem !== null;
    return texts.join('');
  }

  #group(group: EventGroup): string {
    const { line, messages } = this.#after;
    const frame = group.position > line ? this.#begun() : '';
    for (const event of group.events) this.#viewer?.take(event);
    const data = this.#fold.feed(group.events);
    const has = group.position < line || (group.position === line && messages === null) ? data.length : 0;
    const count = group.position === line && messages !== null ? messages : has;
    for (const event of data.slice(0, count)) this.#document.take(event);
    const rest = data.slice(count);
    if (rest.length === 0) return frame;
    // In the middle of a group: what is open there is opened again.
    const again = group.position === line ? this.#begun() : '';
    const left = this.#continued(rest);
    const back = unrecorded(this.#takenBack());
    for (const event of rest) this.#document.take(event);
    const first = group.position === 1 && count === 0;
    const { position } = group;
    const text = left === null ? sseTextAfter({ position, data }, this.#after) : sseText({ position, data: left });
    return frame + again + back + text + (first ? this.#replaced() : '');
  }

  /**
   * What of a reply is new to a client that was shown its beginning; null where it is sent whole, behind a snapshot without
   * that. An old client gets its reasoning late: assistant-ui shows a text that is sent again twice.
   */
  #continued(data: readonly AgEvent[]): readonly (AgEvent | null)[] | null {
    const live = this.#live;
    const at = data.findIndex(({ type }) => !type.startsWith('REASONING_'));
    const [start, content, ...more] = data.slice(at);
    if (live === null || start?.type !== 'TEXT_MESSAGE_START' || content?.type !== 'TEXT_MESSAGE_CONTENT') return null;
    if (content.messageId !== live.messageId || !content.delta.startsWith(live.answer)) return null;
    if (at > 0 && !this.#fold.isOld) return null;
    this.#live = null;
    const delta = content.delta.slice(live.answer.length);
    return [...data.slice(0, at), null, delta === '' ? null : { ...content, delta }, ...more];
  }

  /** What a stream begins with that is not from the beginning. */
  #begun(): string {
    if (this.#hasBegun) return '';
    this.#hasBegun = true;
    if (this.#after.line === 0) return '';
    const snapshot = this.#fold.isStreamable || this.#isNew ? [this.#snapshot()] : [];
    return unrecorded([{ type: 'RUN_STARTED', ...this.#names }, ...snapshot, ...this.#document.reopened()]);
  }

  /** A client that has some of the run and receives it from the beginning replaces what it has. */
  #replaced(): string {
    return this.#hasSome ? unrecorded([this.#snapshot()]) : '';
  }

  #snapshot(): AgEvent {
    return { type: 'MESSAGES_SNAPSHOT', messages: [...this.#others, ...this.#document.messages] };
  }

  said(text: LiveText): string {
    const may = this.#hasBegun && this.#fold.isStreamable && !this.isOver;
    const { answer } = text;
    if (text.seq !== this.#fold.seq || !may || answer === '') return '';
    const { messageId } = this.#fold;
    const before = this.#live;
    const delta = addedTo(before?.answer ?? '', answer);
    if (delta === null || (before !== null && before.messageId !== messageId))
      return unrecorded(this.#takenBack()) + this.said(text);
    this.#live = { messageId, answer };
    return unrecorded([
      ...(before === null ? ([{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }] as const) : []),
      ...(delta === '' ? [] : ([{ type: 'TEXT_MESSAGE_CONTENT', messageId, delta }] as const)),
    ]);
  }

  /** Removes what was shown while the model spoke. */
  #takenBack(): readonly AgEvent[] {
    const live = this.#live;
    this.#live = null;
    return live === null ? [] : [{ type: 'TEXT_MESSAGE_END', messageId: live.messageId }, this.#snapshot()];
  }

  #viewed(path: string, viewer: RunViewer): string {
    const before = this.#view;
    const view = viewer.view(path, this.#fold.approvals.list);
    this.#view = view;
    if (before === null) return unrecorded([{ type: 'STATE_SNAPSHOT', snapshot: { ...this.#state, signalbox: view } }]);
    const delta = Object.entries(view)
      .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(before, name)))
      .map(([name, value]) => ({ op: 'replace', path: `/signalbox/${name}`, value }));
    return delta.length === 0 ? '' : unrecorded([{ type: 'STATE_DELTA', delta }]);
  }
}
