import { ModelError, type ModelReply, type ModelToken, type ReplyStats, type Usage } from '../../actors/model.ts';
import { createStateCollector } from './returned-state.ts';
import { isList } from '../../json/depth.ts';
import { defined, isJsonObject, type JsonObject, parsedText, memberOf } from '../../json/json.ts';

/** Puts a reply together from the objects that a server sends: one whole completion, or many chunks. */
export type ReplyCollector = ReturnType<typeof createReplyCollector>;

/** The finish reasons of a reply that failed half-way: Mistral's and OpenRouter's, vLLM's, DeepSeek's, GLM's. */
const GIVEN_UP: ReadonlySet<string> = new Set(['error', 'abort', 'insufficient_system_resource', 'network_error']);

/** Words of Mistral, GLM and Gemini for what others say otherwise. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['safety', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['function_call_filter', 'malformed-tool-call'],
]);

/** Makes a collector. `onToken` receives every piece of the reply as it arrives. */
export function createReplyCollector(onToken?: (token: ModelToken) => void) {
  const calls = createCallCollector();
  const text: string[] = [];
  const reasoning: string[] = [];
  const state = createStateCollector();
  let isRefusal = false;
  let hasChoice = false;
  let finishReason: string | undefined;
  let usage: Usage | undefined;
  let stats: ReplyStats | undefined;

  const onPiece =
    onToken &&
    ((piece: string, callIndex: number, tool: string) =>
      onToken({ kind: 'arguments', text: piece, callIndex, ...(tool === '' ? {} : { tool }) }));
  const addText = (kind: 'text' | 'reasoning', piece: string) => {
    if (piece === '') return;
    (kind === 'text' ? text : reasoning).push(piece);
    onToken?.({ kind, text: piece });
  };
  const addMessage = (message: JsonObject, ofItsOwn: boolean) => {
    addText('reasoning', firstText(message['reasoning_content'], message['reasoning']));
    state.add(message);
    const { content } = message;
    if (typeof content === 'string') addText('text', content);
    else if (Array.isArray(content)) for (const part of content) addPart(part, addText);
    const refusal = firstText(message['refusal']);
    if (refusal !== '') isRefusal = true;
    addText('text', refusal);
    // Some servers send a single call without a list.
    for (const entry of [message['tool_calls'] ?? []].flat()) state.addCall(entry, calls.add(entry, onPiece, ofItsOwn));
    if (isJsonObject(message['function_call'])) calls.add(message['function_call'], onPiece);
  };

  return {
    /** Takes a completion or a chunk of one. */
    add(value: JsonObject): void {
      usage = readUsage(value['usage']) ?? usage;
      stats = readStats(value) ?? stats;
      for (const choice of countedChoices(value)) {
        hasChoice = true;
        const message = choice['delta'] ?? choice['message'];
        if (isJsonObject(message)) addMessage(message, message !== choice['delta']);
        else if (typeof choice['text'] === 'string') addText('text', choice['text']);
        // Moonshot's place.
        usage = readUsage(choice['usage']) ?? usage;
        // Gemini gives details behind a colon; gateways pass on its capitals.
        const [reason = ''] = firstText(choice['finish_reason']).toLowerCase().split(':');
        if (reason !== '') finishReason = REASONS.get(reason) ?? reason;
      }
    },
    /** True once the server has ended the reply. */
    isFinished: (): boolean => finishReason !== undefined,
    /** The reply. Throws a `bad-response` when no choice ever came, and a `server-error` when the server gave it up. */
    reply(): ModelReply {
      if (!hasChoice) throw new ModelError('bad-response', 'the server sent a reply without any choice in it');
      if (finishReason !== undefined && GIVEN_UP.has(finishReason))
        throw new ModelError('server-error', `The reply ended with '${finishReason}'.`);
      const content = text.join('');
      const toolCalls = calls.calls();
      const kept = toolCalls.length === 0 ? undefined : state.data(content);
      return defined({
        content,
        toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
        usage,
        // OpenAI's own servers say `stop`, and leave it to the field `refusal`.
        finishReason: isRefusal ? 'refusal' : finishReason,
        reasoning: reasoning.length === 0 ? undefined : reasoning.join(''),
        // Only the model itself knows whose it is.
        providerState: kept && { model: '', data: kept },
        stats,
      });
    },
  };
}

/** The choices of a completion or a chunk that count: those numbered 0 (others come with `n`), and Copilot's parts of one, without a number. */
export function countedChoices({ choices }: JsonObject): readonly JsonObject[] {
  if (!isList(choices)) return [];
  return choices.filter(isJsonObject).filter(({ index }) => (index ?? 0) === 0);
}

/** Mistral's reasoning models send their thoughts as parts of the content. */
function addPart(part: unknown, addText: (kind: 'text' | 'reasoning', piece: string) => void): void {
  if (!isJsonObject(part)) return;
  const thoughts = part['thinking'];
  if (typeof part['text'] === 'string') addText('text', part['text']);
  else if (typeof thoughts === 'string') addText('reasoning', thoughts);
  else if (Array.isArray(thoughts)) {
    for (const thought of thoughts) if (isJsonObject(thought)) addText('reasoning', firstText(thought['text']));
  }
}

function readUsage(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined;
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = value;
  if (![input, output, total].some((count) => typeof count === 'number')) return undefined;
  const inputTokens = typeof input === 'number' ? input : 0;
  const outputTokens = typeof output === 'number' ? output : 0;
  const totalTokens = typeof total === 'number' ? total : inputTokens + outputTokens;
  return defined({
    inputTokens,
    outputTokens,
    totalTokens,
    cachedInputTokens: firstCount(
      memberOf(value['prompt_tokens_details'], 'cached_tokens'),
      value['prompt_cache_hit_tokens'],
      value['cached_tokens'],
    ),
    reasoningTokens: firstCount(
      memberOf(value['completion_tokens_details'], 'reasoning_tokens'),
      value['reasoning_tokens'],
    ),
  });
}

/** OpenAI's place for a figure first, then DeepSeek's and Moonshot's. */
function firstCount(...values: readonly unknown[]): number | undefined {
  return values.find((value) => typeof value === 'number');
}

/** llama.cpp's `timings` (milliseconds) and LM Studio's `stats` (seconds). */
function readStats(value: JsonObject): ReplyStats | undefined {
  const { timings, stats } = value;
  if (isJsonObject(timings)) return speed(timings['predicted_per_second'], timings['prompt_ms'], 1);
  if (isJsonObject(stats)) return speed(stats['tokens_per_second'], stats['time_to_first_token'], 1000);
  return undefined;
}

function speed(perSecond: unknown, first: unknown, toMs: number): ReplyStats {
  const firstMs = typeof first === 'number' ? first * toMs : undefined;
  return defined({ tokensPerSecond: firstCount(perSecond), timeToFirstTokenMs: firstMs });
}

function firstText(...values: readonly unknown[]): string {
  return values.find((value) => typeof value === 'string' && value !== '')?.toString() ?? '';
}

/** The tool calls of a reply. */
export type ReplyCalls = NonNullable<ModelReply['toolCalls']>;

interface OpenCall {
  index: number | undefined;
  id: string | undefined;
  name: string;
  /** Text while it is pieced together; an object where a server sent one. */
  args: string | JsonObject;
}

/**
 * Collects tool calls however a server cuts them: by `index`, by `id` alone, by neither, each call whole in one piece,
 * arguments as text or as an object, the id repeated in every piece or by two different calls.
 */
export function createCallCollector() {
  const open: OpenCall[] = [];
  return {
    /**
     * Takes one entry of `tool_calls`, and returns the position of its call. `onPiece` receives argument text as it arrives.
     * `ofItsOwn`: it is not a piece of a call, but a whole one.
     */
    add(entry: unknown, onPiece?: (text: string, callIndex: number, tool: string) => void, ofItsOwn = false): number {
      if (!isJsonObject(entry)) return -1;
      const piece = readPiece(entry);
      let call = ofItsOwn ? undefined : findCall(open, piece);
      if (call === undefined) open.push((call = { index: piece.index, id: piece.id, name: '', args: '' }));
      call.index ??= piece.index;
      call.id ??= piece.id;
      if (piece.name !== '' && call.name !== piece.name) call.name += piece.name;
      if (typeof piece.args !== 'string') call.args = piece.args;
      else if (piece.args !== '') {
        const before = typeof call.args === 'string' ? call.args : '';
        // Gateways to Claude send its empty beginning before the arguments.
        call.args = before === '{}' && piece.args.startsWith('{') ? piece.args : before + piece.args;
        onPiece?.(piece.args, open.indexOf(call), call.name);
      }
      return open.indexOf(call);
    },
    calls: (): ReplyCalls => finished(open),
  };
}

interface Piece {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string;
  readonly args: string | JsonObject;
}

function readPiece(entry: JsonObject): Piece {
  const inner = entry['function'];
  const source = isJsonObject(inner) ? inner : entry;
  const { id } = entry;
  const args = source['arguments'] ?? '';
  return {
    index: indexOf(entry['index']),
    id: typeof id === 'string' && id !== '' ? id : undefined,
    name: typeof source['name'] === 'string' ? source['name'] : '',
    // Of another type they are passed on as text, and fail as what they are: a call without them is another call.
    args: typeof args === 'string' || isJsonObject(args) ? args : JSON.stringify(args),
  };
}

/** Some servers send the number as text. */
function indexOf(index: unknown): number | undefined {
  if (typeof index === 'number') return index;
  return typeof index === 'string' && /^\d+$/.test(index) ? Number(index) : undefined;
}

/** The call that a piece continues; undefined when the piece begins a new one. */
function findCall(open: readonly OpenCall[], piece: Piece): OpenCall | undefined {
  const candidate =
    piece.index !== undefined
      ? (open.findLast((call) => call.index === piece.index) ?? begunOtherwise(open, piece))
      : piece.id !== undefined
        ? open.findLast((call) => call.id === piece.id)
        : open.at(-1);
  if (candidate === undefined || piece.name === '') return candidate;
  // Some servers number every call 0: another id with a name is another call.
  if (piece.id !== undefined && candidate.id !== undefined && piece.id !== candidate.id) return undefined;
  // A name after arguments that are already whole begins the next call, whatever its number or id.
  return isWhole(candidate.args) ? undefined : candidate;
}

/** The latest call, if the piece is neither named nor another's: its first piece may lack the number of later ones, or have another. */
function begunOtherwise(open: readonly OpenCall[], { id, name }: Piece): OpenCall | undefined {
  const last = open.at(-1);
  return name === '' && (id ?? last?.id) === last?.id ? last : undefined;
}

function isWhole(args: string | JsonObject): boolean {
  if (typeof args !== 'string') return true;
  return args.trimEnd().endsWith('}') && parsedText(args) !== undefined;
}

/** An id that an earlier call of the reply has already is left out: results could not be told apart. */
function finished(open: readonly OpenCall[]): ReplyCalls {
  const taken = new Set<string>();
  return open.map(({ id, name, args }) => {
    if (id === undefined || taken.has(id)) return { name, arguments: args };
    taken.add(id);
    return { id, name, arguments: args };
  });
}
