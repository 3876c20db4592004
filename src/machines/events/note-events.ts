import type { Effect } from '../../actors/journal.ts';
import type { Usage } from '../../actors/model.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { AgentContext } from '../agent/agent-context.ts';
import { textCallsOf } from '../agent/planning.ts';
import type { RunEventBody } from './run-events.ts';
import type { ShownOutput } from '../agent/typed-output.ts';
import { OutputSoFar } from './output-events.ts';
import { type Microstep, isAt } from './transition-log.ts';
import type { agentMachine } from '../agent/agent.ts';
import type { ParseReplyOptions } from '../../parsing/reply/reply-source.ts';
import { createReplyStream } from '../../parsing/stream/reply-stream.ts';

type Replied = Pick<Extract<RunEventBody, { readonly type: 'model.replied' }>, 'text' | 'toolCalls'>;
type TokenBody = Extract<RunEventBody, { readonly type: 'model.token' }>;

interface Following {
  readonly agent: string;
  readonly soFar: ReplySoFar;
  readonly output: OutputSoFar;
  /** How the answer is asked for, where it has a schema. */
  shown: ShownOutput | null;
  attempt: number;
  /** How the agent reads its replies now: its tools may change between them. */
  reading: ParseReplyOptions;
}

/** Token events of one run, from the notes of its model calls: each agent's reply is followed on its own. */
export function tokenEvents() {
  const agents = new Map<string, Following>();
  const fresh = (agent: string): Following => ({
    agent,
    soFar: replySoFar(),
    output: new OutputSoFar(),
    shown: null,
    attempt: 1,
    reading: {},
  });
  return {
    /** Takes note of an attempt or a turn that begins. */
    follow: ({ machine, path, snapshot, transition }: Microstep): void => {
      if (machine === 'llmCall') {
        const following = agents.get(path.slice(0, path.lastIndexOf('/')));
        if (following !== undefined) following.attempt = snapshot.context.attempts;
      }
      if (machine !== 'agent') return;
      const following = agents.get(path) ?? fresh(snapshot.context.place.agent);
      agents.set(path, following);
      const context: AgentContext = snapshot.context;
      following.shown = context.shown.output;
      following.reading = howRead(context);
      if (isAt<typeof agentMachine>(transition, 'PLANNING.ASKING')) following.attempt = 1;
      if (snapshot.status !== 'active') agents.delete(path);
    },
    /** The events of a note, the token first; null for a note that is none of tokens. */
    event: (
      effectId: string,
      note: JsonObject,
    ): { readonly bodies: readonly RunEventBody[]; readonly agent: string } | null => {
      if (note.note !== 'token' || typeof note.text !== 'string' || typeof note.index !== 'number') return null;
      const kind = note.kind === 'reasoning' || note.kind === 'arguments' ? note.kind : 'text';
      const following = agents.get(agentPath(effectId)) ?? fresh('');
      const { agent, soFar, attempt, reading, output, shown } = following;
      const piece = { kind, text: note.text, index: note.index } as const;
      const token: TokenBody = { type: 'model.token', ...piece, attempt, ...soFar.take(piece, reading) };
      if (shown === null) return { agent, bodies: [token] };
      if (note.index === 0) output.begin();
      const tool = typeof note.tool === 'string' ? note.tool : undefined;
      const callIndex = typeof note.callIndex === 'number' ? note.callIndex : undefined;
      return { agent, bodies: [token, ...output.take({ ...piece, tool, callIndex }, shown, attempt)] };
    },
    /** The events for the unread rest of a reply that is over. */
    end: (agent: string): readonly RunEventBody[] => {
      const { shown, output, attempt } = [...agents.values()].find((one) => one.agent === agent) ?? fresh(agent);
      return shown === null ? [] : output.end(shown, attempt);
    },
    /** The place of the agent that an effect belongs to; empty for the root. */
    placeOf: (effectId: string): string => agents.get(agentPath(effectId))?.agent ?? '',
    /** The whole of a reply at once, as a replay gives it. */
    whole: ({ text, toolCalls }: Replied, agent: string): readonly RunEventBody[] => {
      const { soFar, reading, shown, output } = [...agents.values()].find((one) => one.agent === agent) ?? fresh(agent);
      const token = (): TokenBody => ({
        type: 'model.token',
        kind: 'text',
        text,
        attempt: 1,
        index: 0,
        ...soFar.whole(text, reading),
      });
      const tokens = text === '' ? [] : [token()];
      if (shown === null) return tokens;
      output.begin();
      const pieces = [
        { kind: 'text', text } as const,
        ...toolCalls.map(
          (call, callIndex) => ({ kind: 'arguments', text: call.arguments, tool: call.name, callIndex }) as const,
        ),
      ];
      return [...tokens, ...pieces.flatMap((piece) => output.take(piece, shown, 1)), ...output.end(shown, 1)];
    },
  };
}

/** How an agent reads its replies now. */
export function howRead(context: AgentContext): ParseReplyOptions {
  return { tools: context.toolset.tools, textCalls: textCallsOf(context, context.toolCalling) };
}

/** The agent that a model call belongs to: the path of its effect, without the call and the leaf. */
export function agentPath(effectId: string): string {
  return effectId.split('/').slice(0, -2).join('/');
}

/** What a reply says so far. */
interface SoFar {
  readonly thought: string;
  readonly answer: string;
}

/** Follows replies while they arrive, so that a user interface can show the answer and not the envelope around it. */
type ReplySoFar = ReturnType<typeof replySoFar>;

/** A piece of a reply as it arrives. */
interface Piece {
  readonly text: string;
  readonly kind: 'text' | 'reasoning' | 'arguments';
  readonly index: number;
}

/** Follows the replies of one agent. */
function replySoFar() {
  let stream = createReplyStream();
  let reasoning = '';
  return {
    /** Takes a piece; the first one of a reply, which has the index 0, starts over with today's `options`. */
    take: ({ text, kind, index }: Piece, options: ParseReplyOptions): SoFar => {
      if (index === 0) {
        stream = createReplyStream(options);
        reasoning = '';
      }
      if (kind === 'reasoning') reasoning += text;
      const { thought, answer = '' } = kind === 'text' ? stream.push(text) : stream.partial;
      return { thought: reasoning === '' ? thought : reasoning, answer };
    },
    /** What a reply that is there as a whole says. */
    whole: (text: string, options: ParseReplyOptions): SoFar => {
      const all = createReplyStream(options);
      all.push(text);
      all.end();
      const { thought, answer = '' } = all.partial;
      return { thought, answer };
    },
  };
}

/** The RunEvent for a note of the leaf that calls tools; null for other notes. It is not replayed: a replay calls no server. */
export function eventOfNote({ request }: Effect, note: JsonObject): RunEventBody | null {
  if (!isJsonObject(request)) return null;
  const call = { callId: textOf(request.callId), tool: textOf(request.tool) };
  if (note.note === 'progress' && typeof note.progress === 'number') {
    const { progress, total, message } = note;
    return {
      type: 'tool.progress',
      ...call,
      progress,
      total: typeof total === 'number' ? total : null,
      message: typeof message === 'string' ? message : null,
    };
  }
  return note.note === 'question' ? questionOf(call, note) : null;
}

function questionOf(call: { readonly callId: string; readonly tool: string }, note: JsonObject): RunEventBody {
  const { phase, message, url, origin, action, content = {}, usage } = note;
  const kind = note.kind === 'sampling' ? 'sampling' : 'elicitation';
  const asked = { ...call, server: textOf(note.server), kind } as const;
  if (phase === 'asked') {
    const page = typeof url === 'string' && typeof origin === 'string' ? { url, origin } : {};
    return { type: 'question.asked', ...asked, message: textOf(message), ...page };
  }
  return {
    type: 'question.answered',
    ...asked,
    action: action === 'accept' || action === 'decline' ? action : 'cancel',
    content,
    usage: usageOf(usage),
  };
}

function usageOf(usage: Json | undefined): Usage | null {
  if (!isJsonObject(usage)) return null;
  const { inputTokens, outputTokens, totalTokens } = usage;
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number' || typeof totalTokens !== 'number')
    return null;
  const { cachedInputTokens: cached, reasoningTokens: reasoning } = usage;
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    ...(typeof cached === 'number' ? { cachedInputTokens: cached } : {}),
    ...(typeof reasoning === 'number' ? { reasoningTokens: reasoning } : {}),
  };
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
