import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type { McpAnswers, McpElicitation, McpSampled, McpSampling } from './answers.ts';
import type { McpOddity } from '../link/link.ts';
import { readPageRequest } from './page-request.ts';
import { REFUSAL, isRpcRefusal, rpcRefusal } from './rpc-refusal.ts';

/** A request that came from a server. */
export interface ServerRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** What a request of a server is answered with. */
export interface AnswerIo {
  readonly server: string;
  readonly answers: McpAnswers;
  /** Aborts when the server takes its request back or the link ends. */
  readonly signal: AbortSignal;
  readonly onOddity: (oddity: McpOddity) => void;
}

/**
 * Answers a request of a server: for folders, for a person's answer, for a model's reply. Nothing is answered that was not
 * offered, but for a question to a person, which is declined: a server that got an error might go on as if nobody had to
 * be asked. Rejects with the error that the server gets.
 */
export async function answerRequest({ method, params }: ServerRequest, io: AnswerIo): Promise<JsonObject> {
  const { answers } = io;
  if (method === 'roots/list' && answers.roots !== undefined) {
    const roots = await answers.roots();
    return { roots: roots.map(({ uri, name }) => ({ uri, ...(name === undefined ? {} : { name }) })) };
  }
  if (method === 'elicitation/create') return elicited(params, io);
  if (method === 'sampling/createMessage' && answers.sample !== undefined) return sampled(params, io, answers.sample);
  throw rpcRefusal(REFUSAL.unknownMethod, `This client does not offer ${method}`);
}

async function elicited(params: JsonObject, { server, answers, signal, onOddity }: AnswerIo): Promise<JsonObject> {
  const odd = (text: string): void => onOddity({ kind: 'unanswered', message: text });
  const question = readQuestion(server, params, odd);
  if (answers.elicit === undefined) {
    odd(`it asked a person something that nobody is there to answer: ${question.message.slice(0, 300)}`);
    return { action: 'decline' };
  }
  try {
    const answer = await answers.elicit(question, { signal });
    return question.mode === 'url' ? { action: answer.action } : { ...answer };
  } catch (thrown) {
    if (!signal.aborted)
      odd(`its question was not answered: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    return { action: 'cancel' };
  }
}

function readQuestion(server: string, params: JsonObject, odd: (text: string) => void): McpElicitation {
  const { mode = 'form', message, requestedSchema, url } = params;
  if (mode === 'url') {
    const question = readPageRequest(server, params);
    if (question !== null) return question;
    odd(`it wants a person to open ${JSON.stringify(url ?? null).slice(0, 300)}, which is no page to send anybody to`);
    throw rpcRefusal(REFUSAL.invalidParams, 'elicitation/create needs a message and an https url without a password');
  }
  if (mode !== 'form')
    throw rpcRefusal(REFUSAL.invalidParams, `This client supports no elicitation of mode ${JSON.stringify(mode)}`);
  if (typeof message !== 'string' || !isJsonObject(requestedSchema))
    throw rpcRefusal(REFUSAL.invalidParams, 'elicitation/create needs a message and a requestedSchema');
  return { server, message, schema: requestedSchema };
}

async function sampled(
  params: JsonObject,
  { server, signal }: AnswerIo,
  sample: NonNullable<McpAnswers['sample']>,
): Promise<JsonObject> {
  const request = readSampling(server, params);
  let reply: McpSampled;
  try {
    reply = await sample(request, { signal, confirm: true });
  } catch (thrown) {
    if (isRpcRefusal(thrown)) throw thrown;
    throw rpcRefusal(REFUSAL.internal, 'The client could not give a reply');
  }
  const { text, model, truncated = false } = reply;
  return { role: 'assistant', content: { type: 'text', text }, model, stopReason: truncated ? 'maxTokens' : 'endTurn' };
}

function readSampling(server: string, params: JsonObject): McpSampling {
  const { messages, systemPrompt, maxTokens, temperature, tools } = params;
  if (!isList(messages) || messages.length === 0)
    throw rpcRefusal(REFUSAL.invalidParams, 'sampling/createMessage needs messages');
  if (isList(tools) && tools.length > 0)
    throw rpcRefusal(REFUSAL.invalidParams, 'This client offers sampling without tools only');
  return {
    server,
    messages: messages.map(readMessage),
    ...(typeof systemPrompt === 'string' ? { systemPrompt } : {}),
    maxTokens: typeof maxTokens === 'number' && maxTokens >= 1 ? Math.floor(maxTokens) : 1000,
    ...(typeof temperature === 'number' ? { temperature } : {}),
  };
}

function readMessage(message: Json): McpSampling['messages'][number] {
  const { role, content }: JsonObject = isJsonObject(message) ? message : {};
  const blocks = (isList(content) ? content : [content ?? null]).map((block) =>
    isJsonObject(block) && block.type === 'text' && typeof block.text === 'string' ? block.text : null,
  );
  if ((role !== 'user' && role !== 'assistant') || blocks.includes(null))
    throw rpcRefusal(REFUSAL.invalidParams, 'This client offers sampling of text only');
  return { role, text: blocks.join('\n') };
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
