import type { AgentContext } from '../../machines/agent/agent-context.ts';
import { textCallsOf } from '../../machines/agent/planning.ts';
import type { RunEventBody } from '../../machines/events/run-events.ts';
import type { Move } from '../../machines/events/transition-log.ts';
import type { JsonObject } from '../../json/json.ts';
import type { ParseReplyOptions } from '../../parsing/reply/reply-source.ts';
import { createReplyStream } from '../../parsing/stream/reply-stream.ts';

type TokenBody = Extract<RunEventBody, { readonly type: 'model.token' }>;

/** Makes token events of what a model call notes while it runs: each agent's reply is followed on its own. */
export interface TokenEvents {
  /** Takes note of an attempt or a turn that begins. */
  follow(move: Move): void;
  /** The event of a note; null for a note that is none of tokens. */
  event(effectId: string, note: JsonObject): { readonly body: TokenBody; readonly agent: string } | null;
  /** The place of the agent that an effect belongs to; empty for the root. */
  placeOf(effectId: string): string;
  /** The whole text of a reply at once, as a replay gives it. */
  whole(text: string, agent: string): TokenBody;
}

interface Following {
  readonly agent: string;
  readonly soFar: ReplySoFar;
  attempt: number;
  /** How the agent reads its replies now: its tools may change between them. */
  reading: ParseReplyOptions;
}

/** Token events of one run. */
export function tokenEvents(): TokenEvents {
  const agents = new Map<string, Following>();
  const fresh = (agent: string): Following => ({ agent, soFar: replySoFar(), attempt: 1, reading: {} });
  return {
    follow: ({ machine, path, snapshot, transition }) => {
      if (machine === 'llmCall') {
        const following = agents.get(path.slice(0, path.lastIndexOf('/')));
        if (following !== undefined) following.attempt = snapshot.context.attempts;
      }
      if (machine !== 'agent') return;
      const following = agents.get(path) ?? fresh(snapshot.context.place.agent);
      agents.set(path, following);
      const context: AgentContext = snapshot.context;
      following.reading = { tools: context.toolset.tools, textCalls: textCallsOf(context, context.toolCalling) };
      if (transition?.to === 'PLANNING.ASKING') following.attempt = 1;
      if (snapshot.status !== 'active') agents.delete(path);
    },
    event: (effectId, note) => {
      if (note.note !== 'token' || typeof note.text !== 'string' || typeof note.index !== 'number') return null;
      const kind = note.kind === 'reasoning' || note.kind === 'arguments' ? note.kind : 'text';
      const { agent, soFar, attempt, reading } = agents.get(agentPath(effectId)) ?? fresh('');
      const piece = { kind, text: note.text, index: note.index } as const;
      return { agent, body: { type: 'model.token', ...piece, attempt, ...soFar.take(piece, reading) } };
    },
    placeOf: (effectId) => agents.get(agentPath(effectId))?.agent ?? '',
    whole: (text, agent) => {
      const { soFar, reading } = [...agents.values()].find((one) => one.agent === agent) ?? fresh(agent);
      return { type: 'model.token', kind: 'text', text, attempt: 1, index: 0, ...soFar.whole(text, reading) };
    },
  };
}

/** The agent that a model call belongs to: the path of its effect, without the call and the leaf. */
function agentPath(effectId: string): string {
  return effectId.split('/').slice(0, -2).join('/');
}

/** What a reply says so far. */
interface SoFar {
  readonly thought: string;
  readonly answer: string;
}

/** Follows replies while they arrive, so that a user interface can show the answer and not the envelope around it. */
interface ReplySoFar {
  /** Takes a piece; the first one of a reply, which has the index 0, begins anew with today's `options`. */
  take(piece: Piece, options: ParseReplyOptions): SoFar;
  /** What a reply that is there as a whole says. */
  whole(text: string, options: ParseReplyOptions): SoFar;
}

/** A piece of a reply as it arrives. */
interface Piece {
  readonly text: string;
  readonly kind: 'text' | 'reasoning' | 'arguments';
  readonly index: number;
}

/** Follows the replies of one agent. */
function replySoFar(): ReplySoFar {
  let stream = createReplyStream();
  let reasoning = '';
  return {
    take: ({ text, kind, index }, options) => {
      if (index === 0) {
        stream = createReplyStream(options);
        reasoning = '';
      }
      if (kind === 'reasoning') reasoning += text;
      const { thought, answer = '' } = kind === 'text' ? stream.push(text) : stream.partial;
      return { thought: reasoning === '' ? thought : reasoning, answer };
    },
    whole: (text, options) => {
      const all = createReplyStream(options);
      all.push(text);
      all.end();
      const { thought, answer = '' } = all.partial;
      return { thought, answer };
    },
  };
}
