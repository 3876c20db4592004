import type { Message, MessageToolCall } from '../../actors/model.ts';
import { sameAtFirst } from '../../json/json.ts';
import type { AgentSettings } from '../contract/agent-setup.ts';

const KEPT_OF_OLD_RESULT = 400;
const RESULT_PREFIX = '[Result from ';

/** The text of a message, whatever form its content has. */
function textOf({ content }: Pick<Message, 'content'>): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** How a result is written where there are no native tool calls. */
export function resultText(tool: string, text: string): string {
  return `${RESULT_PREFIX}${tool}]: ${text}`;
}

/**
 * The conversation without native tool calls, for models that take only text: a call becomes the envelope that json
 * mode uses, a result a user message.
 */
export function toJsonMode(messages: readonly Message[]): readonly Message[] {
  if (!messages.some((message) => message.role === 'tool' || message.toolCalls !== undefined)) return messages;
  return messages.map((message) => {
    if (message.role === 'tool') return { role: 'user', content: resultText(message.name ?? 'tool', textOf(message)) };
    if (message.toolCalls === undefined) return message;
    const calls = message.toolCalls.map(envelopeOf).join('\n');
    return { role: 'assistant', content: [textOf(message), calls].filter((text) => text !== '').join('\n') };
  });
}

/** A native call as the envelope that json mode uses. */
export function envelopeOf(call: MessageToolCall): string {
  return `{"tool": ${JSON.stringify(call.name)}, "tool_args": ${call.arguments}}`;
}

/** What becomes of a conversation that is too long: as in older recordings, or as now. */
type Cutting = Pick<AgentSettings, 'longHistory'>;

/** Cuts all tool results but the latest turn's, for a model whose context is full. The same list if there is nothing to cut. */
export function shortenOlderResults(messages: readonly Message[], cutting: Cutting): readonly Message[] {
  const lastTurn = messages.findLastIndex((message) => message.role === 'assistant');
  const latest = messages.slice(lastTurn < 0 ? 0 : lastTurn);
  const older = withoutImages(messages.slice(0, messages.length - latest.length));
  const after = [...older.map((message) => shortenedResult(message, cutting)), ...latest];
  return after.some((message, index) => message !== messages[index]) ? after : messages;
}

/** What is sent of a conversation for which a model's context has no room. */
export interface Less {
  readonly messages: readonly Message[];
  /** Older results were shortened. */
  readonly shortened: boolean;
  /** How many of the oldest messages are left out. */
  readonly leftOut: number;
}

/**
 * Still less of a conversation that is too long: first with older results shortened, then without the older half of the
 * exchanges among its first `earlier` messages. Null: there is nothing left to take away.
 */
export function withLess({ messages, shortened, leftOut }: Less, earlier: number, cutting: Cutting): Less | null {
  const shorter = shortened ? messages : shortenOlderResults(messages, cutting);
  if (shorter !== messages) return { messages: shorter, shortened: true, leftOut };
  const rest = cutting.longHistory === undefined ? 0 : earlier - leftOut;
  const starts = messages.flatMap((message, index) => (index < rest && isStart(message) ? [index] : []));
  const cut = starts[Math.ceil(starts.length / 2)] ?? rest;
  return cut === 0 ? null : { messages: messages.slice(cut), shortened, leftOut: leftOut + cut };
}

/**
 * The conversation after a request that its server has refused with this code. What the refusal can be about, what has been
 * said since the last reply, is left out or cut, so that the conversation can continue.
 */
export function withoutRefused(messages: readonly Message[], code: string): readonly Message[] {
  const refusable = REFUSED_FOR.get(code);
  if (refusable === undefined) return messages;
  const from = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  return messages.map((message, index) => {
    const content = index < from ? message.content : refusable(message.content);
    return content === message.content ? message : Object.freeze({ ...message, content });
  });
}

const REFUSED = "left out: the model's server refused it]";
/** What stands in the place of what is left out, by the code with which it was refused. */
const LEFT_OUT = new Map([
  ['content-filter', "[left out: the model's content filter blocked it]"],
  ['bad-request', `[${REFUSED}`],
]);

/**
 * The conversation after a run, from message `own` on, whose only request was refused: what had no reply before it is left out.
 * Where a filter has blocked all of that already, twice or more, not each message is to blame: exchanges before are left out, too,
 * the last one, then twice as many each time.
 */
export function withoutSuspects(messages: readonly Message[], own: number, code: string): readonly Message[] {
  const mark = LEFT_OUT.get(code);
  const from = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  const hasMedia = messages.slice(own).some((message) => textOf(message).endsWith(REFUSED));
  if (mark === undefined || from >= own || hasMedia) return messages;
  const unanswered = messages.slice(from, own);
  // The results of one turn were refused together.
  const results = unanswered.filter(({ role }) => role === 'tool').length;
  const refusals = unanswered.every(({ content }) => content === mark)
    ? unanswered.length - Math.max(0, results - 1)
    : 0;
  const starts = messages.flatMap((message, index) => (index < from && isStart(message) ? [index] : []));
  const back = refusals < 2 ? from : (starts.at(-(2 ** (refusals - 2))) ?? 0);
  return messages.map((message, index) => (index < back || index >= own ? message : blank(message, mark)));
}

function blank({ role, toolCallId, name, toolCalls }: Message, mark: string): Message {
  return Object.freeze({
    role,
    content: mark,
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(name === undefined ? {} : { name }),
    ...(toolCalls === undefined ? {} : { toolCalls: toolCalls.map((call) => ({ ...call, arguments: '{}' })) }),
  });
}

/** What may be sent again of a message, by the code with which its request was refused. */
const REFUSED_FOR = new Map<string, (content: Message['content']) => Message['content']>([
  ['content-filter', () => LEFT_OUT.get('content-filter') ?? ''],
  [
    'context-overflow',
    (content) => {
      const words = withoutMedia(content);
      const text = textOf({ content: words });
      return text.length <= KEPT_OF_OLD_RESULT ? words : cutText(text);
    },
  ],
  ['bad-request', (content) => withoutMedia(content)],
]);

/** All that may have become of a message in its conversation: it was sent, or refused in one of these ways. */
export function formsOf(content: Message['content']): readonly Message['content'][] {
  return [content, ...Array.from(REFUSED_FOR.values(), (refused) => refused(content))];
}

/** Images and files are left out: they may be broken, or too large. */
function withoutMedia(content: Message['content']): Message['content'] {
  if (typeof content === 'string' || content.every(({ type }) => type === 'text')) return content;
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type} ${REFUSED}`)).join('\n');
}

function cutText(text: string): string {
  return `${text.slice(0, KEPT_OF_OLD_RESULT)} … [shortened: the conversation had become too long]`;
}

/** The conversation with the images of results left out: their messages say only that there were some. */
export function withoutImages(messages: readonly Message[]): readonly Message[] {
  // Nearly every conversation is texts alone: then it is looked through once, without a call for each message.
  let isText = true;
  for (const { content } of messages) if (typeof content !== 'string') isText = false;
  if (isText || !messages.some(hasImages)) return messages;
  return messages.map((message) =>
    hasImages(message) ? { ...message, content: `${textOf(message)} [left out here]` } : message,
  );
}

function hasImages(message: Message): boolean {
  return (
    typeof message.content !== 'string' && message.content.some(({ type }) => type === 'image') && isResult(message)
  );
}

/** True where a message of the user holds an image, or a file, which cannot be left out as images of results can. */
export function isInUserMessage(kind: 'image' | 'file', messages: readonly Message[]): boolean {
  return messages.some(
    (message) =>
      typeof message.content !== 'string' && message.content.some(({ type }) => type === kind) && isStart(message),
  );
}

function isStart(message: Message): boolean {
  return message.role === 'user' && !isResult(message);
}

function isResult(message: Message): boolean {
  return message.role === 'tool' || (message.role === 'user' && textOf(message).startsWith(RESULT_PREFIX));
}

function shortenedResult(message: Message, { longHistory }: Cutting): Message {
  const text = textOf(message);
  if (!isResult(message) || text.length <= KEPT_OF_OLD_RESULT) return message;
  const content = cutText(text);
  // Older recordings ask again for what was cut before, and is the same.
  return longHistory !== undefined && content.length >= text.length ? message : { ...message, content };
}

/**
 * Gives every call that was left without a result one, and drops results that belong to no call of the turn before them,
 * so that the conversation can continue later. Ids count within their turn only: models repeat theirs.
 */
export function closeOpenCalls(messages: readonly Message[], text: string): readonly Message[] {
  const repaired: Message[] = [];
  let open: readonly MessageToolCall[] = [];
  const close = (): void => {
    for (const { id, name } of open) repaired.push({ role: 'tool', toolCallId: id, name, content: text });
    open = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') {
      const left = open.filter(({ id }) => id !== message.toolCallId);
      if (left.length < open.length) repaired.push(message);
      open = left;
      continue;
    }
    close();
    repaired.push(message);
    open = message.toolCalls ?? [];
  }
  close();
  return repaired;
}

/**
 * The newest messages, at most `limit` (0: all), cut only where an exchange begins: at a message of the user that is
 * neither a tool result nor `inside` an exchange, as our own corrections are. A call is never separated from its result.
 * Of one exchange that is longer than the limit its question and its latest turns are kept, whole turns at a time: many
 * servers refuse a conversation that a model's call begins.
 */
export function pruneHistory(
  messages: readonly Message[],
  limit: number,
  inside: { has(message: Message): boolean } = new Set<Message>(),
): readonly Message[] {
  if (limit === 0 || messages.length <= limit) return messages;
  const starts = messages.flatMap((message, index) => (isStart(message) && !inside.has(message) ? [index] : []));
  const start = starts.find((index) => messages.length - index <= limit);
  if (start !== undefined) return messages.slice(start);
  const turn = messages.findIndex(({ role }, index) => messages.length - index < limit && role === 'assistant');
  const question = starts.at(-1) ?? 0;
  return turn === -1 ? [] : [...messages.slice(question, question + 1), ...messages.slice(turn)];
}

/**
 * The ids of a conversation's calls, by its first message: one that only grew is looked through from its former end. By a later
 * one, each beginning would hold the one before it, and with that all that was ever said.
 */
const idsOfCalls = new WeakMap<Message, { readonly messages: readonly Message[]; readonly ids: Set<string> }>();

/** Of shorter conversations nothing is kept: looking through them costs less than a set. */
const MANY_MESSAGES = 40;

/** Looks ids up among the calls of a conversation. A reply asks about one or two. */
export function knownCalls(messages: readonly Message[]): (id: string) => boolean {
  let ids: ReadonlySet<string> | null = null;
  return (id) => {
    if (ids === null && messages.length < MANY_MESSAGES) {
      if (messages.every(({ toolCalls = [] }) => toolCalls.every((call) => call.id !== id))) return false;
    }
    // Where one is known, a free id is made, with as many tries as there are calls that had none of their own.
    ids ??= callIds(messages);
    return ids.has(id);
  };
}

function callIds(messages: readonly Message[]): ReadonlySet<string> {
  const [first] = messages;
  const before = first && idsOfCalls.get(first);
  const { messages: known, ids } =
    before !== undefined && sameAtFirst(before.messages, messages) === before.messages.length
      ? before
      : { messages: [], ids: new Set<string>() };
  for (const { toolCalls = [] } of messages.slice(known.length)) for (const call of toolCalls) ids.add(call.id);
  if (first !== undefined && messages.length >= MANY_MESSAGES) idsOfCalls.set(first, { messages, ids });
  return ids;
}
