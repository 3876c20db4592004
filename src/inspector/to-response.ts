import { type RunEvent, addedTo } from '../machines/events/run-events.ts';
import { optionsOf } from '../json/known-options.ts';
import { systemCode } from '../security/folders.ts';
import { abortable } from './frames/event-loop.ts';
import { eventStream, lastNumber } from './server/sse-response.ts';
import { eventText } from './frames/frame-log.ts';

/** How a run is sent. */
export interface ToResponseOptions {
  /** The header `Last-Event-ID` of a client that reconnects: it is sent what came after that event. */
  readonly lastEventId?: string | null | undefined;
  /** Additional headers, such as those for CORS. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The types of event that are sent. Default: all. */
  readonly events?: readonly RunEvent['type'][] | undefined;
  /** Optional data to include in the stream, visible to all its readers. Default: none. */
  readonly fields?: readonly SentField[] | undefined;
}

/**
 * What {@link toResponse} leaves out unless it is asked for: arguments of calls, what came of them (errors and the answers
 * of child agents included), what the model thinks, and messages: questions, and replies as the model wrote them.
 */
export type SentField = 'arguments' | 'results' | 'thoughts' | 'messages';

const checkOptions = optionsOf<ToResponseOptions>('toResponse', 'docs/inspector.md', {
  lastEventId: true,
  headers: true,
  events: true,
  fields: true,
});

/** Events that are sent at once, when they are there already. */
const BATCH = 100;

/**
 * A run's events as server-sent events, in a Web `Response` for any HTTP framework. The id of each is its `seq`, so a
 * browser's `EventSource` that loses the connection continues where it was; tokens have none, and those of the reply under
 * way are sent again. A token holds what is new: `answerDelta` to append, or `answer` to replace the text so far. A run
 * that breaks off, such as one that cannot be resumed, is reported by an event `error` with its code. A client that
 * disconnects does not end the run. The last event is named `end`.
 *
 * @example
 * app.get('/runs/:id', (c) => toResponse(runs.get(c.req.param('id')), { lastEventId: c.req.header('last-event-id') }));
 */
export function toResponse(run: AsyncIterable<RunEvent>, options: ToResponseOptions = {}): Response {
  checkOptions(options);
  const after = lastNumber(options.lastEventId);
  return eventStream((signal) => batches(run, { after, tell: teller(options) }, signal), options.headers);
}

async function* batches(
  run: AsyncIterable<RunEvent>,
  { after, tell }: { readonly after: number; readonly tell: ReturnType<typeof teller> },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const events = run[Symbol.asyncIterator]();
  // A torn stream would be asked for again and again, so what breaks a run off is sent like what ends it.
  const ask = () => events.next().catch((error: unknown) => ({ done: true as const, broken: errorText(error) }));
  const unlessLeft = abortable(signal);
  // A reader that is gone would hold texts for as long as the run lives.
  signal.addEventListener('abort', () => void events.return?.(), { once: true });
  let next = ask();
  for (;;) {
    const texts: string[] = [];
    let patience: Promise<undefined> | null = null;
    for (let waits = false; !waits && texts.length < BATCH;) {
      const event = await unlessLeft(patience === null ? next : Promise.race([next, patience]));
      if (event === null || (event !== undefined && event.done === true)) {
        if (event !== null && 'broken' in event) texts.push(event.broken);
        if (texts.length > 0) yield encoder.encode(texts.join(''));
        return;
      }
      waits = event === undefined;
      if (event === undefined) continue;
      next = ask();
      const { value } = event;
      patience ??= soon();
      const isToken = value.type === 'model.token';
      const sent = value.seq > after || (value.seq === after && isToken) ? tell(value) : null;
      if (sent !== null) texts.push(eventText(isToken ? null : value.seq, JSON.stringify(sent)));
    }
    if (texts.length > 0) yield encoder.encode(texts.join(''));
  }
}

/** Only the code: an error's message names paths on this machine. */
function errorText(error: unknown): string {
  const code = systemCode(error) || 'error';
  const json = JSON.stringify({ type: 'error', code, message: `The run cannot be followed: ${code}.` });
  return `event: error\n${eventText(null, json)}`;
}

const encoder = new TextEncoder();

/** Resolves once everything that is there already could be read. */
function soon(): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(resolve, 0));
}

type Sent = Readonly<Record<string, unknown>>;
type Of<T extends RunEvent['type']> = Extract<RunEvent, { readonly type: T }>;
type LeftOut = { readonly [T in RunEvent['type']]: SentField | { readonly [Name in keyof Of<T>]?: SentField } };

/** What stands where: a member of an event, or the whole event. */
const PRIVATE: LeftOut = {
  'run.started': { task: 'messages' },
  'step.started': {},
  'state.changed': {},
  'model.token': {},
  'message.received': { text: 'messages' },
  'message.delivered': { text: 'messages' },
  'output.partial': {},
  'output.element': {},
  // A model's id may name the server.
  'model.replied': { text: 'messages', toolCalls: 'arguments', repairs: 'arguments', model: 'messages' },
  'model.retrying': {},
  thought: 'thoughts',
  goal: 'thoughts',
  'plan.made': {},
  'tool.started': { args: 'arguments' },
  'tool.finished': { args: 'arguments', result: 'results' },
  'tool.progress': { message: 'results' },
  'question.asked': { message: 'messages', url: 'messages' },
  'question.answered': { content: 'messages' },
  'tool.denied': { args: 'arguments' },
  'approval.requested': { args: 'arguments', address: 'arguments' },
  'permission.outdated': {},
  'recovery.step': { error: 'results' },
  'escalation.raised': { reason: 'results' },
  'loop.suspected': {},
  'mcp.changed': {},
  'mcp.log': { message: 'results' },
  answer: {},
  warning: {},
  'run.finished': {},
};

/** Makes what is sent of each event, in order; null: nothing. */
function teller({ events, fields = [] }: ToResponseOptions): (event: RunEvent) => Sent | null {
  const wanted: ReadonlySet<string> = new Set(fields);
  const types = events === undefined ? null : new Set(events);
  const tokenOf = tokenReader(wanted);
  const only = (whole: object, names: Readonly<Record<string, string | undefined>>): Sent =>
    Object.fromEntries(Object.entries(whole).filter(([name]) => isWanted(names[name])));
  const isWanted = (field: string | undefined): boolean => field === undefined || wanted.has(field);
  // What a message keeps for its model are thoughts.
  const lasting = ({ usage, messages, ...rest }: Of<'run.finished'>['result']): Sent => ({
    ...rest,
    usage: only(usage, { byModel: 'messages' }),
    messages: messages.map((message) => only(message, { providerState: 'thoughts' })),
  });
  return (event) => {
    if (types !== null && !types.has(event.type)) return null;
    if (event.type === 'model.token') return tokenOf(event);
    const names = PRIVATE[event.type];
    if (typeof names === 'string') return isWanted(names) ? event : null;
    const sent = only(event, names);
    if (event.type === 'run.finished')
      return { ...sent, result: only(lasting(event.result), { messages: 'messages', errorHistory: 'results' }) };
    if (event.type !== 'plan.made') return sent;
    return { ...sent, steps: event.steps.map((step) => only(step, { args: 'arguments' })) };
  };
}

/** What each kind of piece belongs to. A reply as it is written may hold everything. */
const TEXT_OF = { text: 'messages', reasoning: 'thoughts', arguments: 'arguments' } as const;

/** Makes token events that say what is new since the one before; each agent's reply is followed on its own. */
function tokenReader(wanted: ReadonlySet<string>): (event: Of<'model.token'>) => Sent | null {
  const last = new Map<string, Of<'model.token'>>();
  return (event) => {
    const { text, thought, answer, ...rest } = event;
    const shown = last.get(event.child ?? '');
    last.set(event.child ?? '', event);
    const goesOn = shown !== undefined && shown.attempt === event.attempt && shown.index < event.index;
    const pieces = {
      ...(wanted.has(TEXT_OF[event.kind]) ? { text } : {}),
      ...(wanted.has('thoughts') ? change('thought', shown?.thought, thought, goesOn) : {}),
      // What a child agent answers is what came of a call.
      ...(event.child === undefined || wanted.has('results') ? change('answer', shown?.answer, answer, goesOn) : {}),
    };
    return Object.keys(pieces).length === 0 ? null : { ...rest, ...pieces };
  };
}

/** What a reader must do to the text that it shows: nothing, put something behind it, or put another in its place. */
function change(name: string, shown = '', now: string, goesOn: boolean): Sent {
  if (now === shown && (goesOn || now === '')) return {};
  const added = goesOn ? addedTo(shown, now) : null;
  return added === null ? { [name]: now } : { [`${name}Delta`]: added };
}
