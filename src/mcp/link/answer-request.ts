import { basename, join, resolve } from 'node:path';
import { homedir } from 'node:os';
import { pathToFileURL } from 'node:url';
import { isList } from '../../json/depth.ts';
import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import type {
  McpAnswers,
  McpElicitation,
  McpRoot,
  McpSampled,
  McpSampling,
  McpUrlElicitation,
} from '../config/answers.ts';
import { isLoopback } from '../config/auth.ts';
import type { ProtocolWarning } from '../wire/link.ts';

/** A request that came from a server. */
interface ServerRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** Answers what a server wants to know. */
export type Answer = (request: ServerRequest, signal: AbortSignal) => Promise<JsonObject>;

/** What a request of a server is answered with. */
interface AnswerIo {
  readonly server: string;
  readonly answers: McpAnswers;
  /** Aborts when the server takes its request back or the link ends. */
  readonly signal: AbortSignal;
  readonly onWarning: (warning: ProtocolWarning) => void;
}

/**
 * Answers a request of a server: for folders, for a person's answer, for a model's reply. Requests for what was not
 * offered are errors, except a question to a person, which is declined: a server that receives an error might continue as
 * if no one had to be asked. Rejects with the error that the server gets.
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

async function elicited(params: JsonObject, { server, answers, signal, onWarning }: AnswerIo): Promise<JsonObject> {
  const odd = (text: string): void => onWarning({ kind: 'unanswered', message: text });
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
    odd(
      `it wants a person to open ${JSON.stringify(url ?? null).slice(0, 300)}, which is not a page to send anybody to`,
    );
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

/** A question of this kind wants nothing typed. */
const NOTHING: JsonObject = { type: 'object', properties: {} };

/**
 * Reads a server's wish that a person opens a page; null unless it names a page that a person can be sent to: only https,
 * or http on this machine, without user name and password. The URL is written as a browser does, in plain ASCII.
 */
export function readPageRequest(server: string, { message, url }: JsonObject): McpUrlElicitation | null {
  if (typeof message !== 'string' || typeof url !== 'string' || !URL.canParse(url)) return null;
  const { href, origin, protocol, username, password } = new URL(url);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(url))) return null;
  if (username !== '' || password !== '') return null;
  return { mode: 'url', server, message, url: href, origin, schema: NOTHING };
}

/** Codes of JSON-RPC and MCP for a no to a server's request. */
export const REFUSAL = { invalidParams: -32602, unknownMethod: -32601, internal: -32603, rejected: -1 } as const;

/** A refusal of a server's request, in the form that the protocol's client passes on. */
export function rpcRefusal(code: (typeof REFUSAL)[keyof typeof REFUSAL], message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Whether a thrown value is a refusal that may be sent to the server as it is. */
export function isRpcRefusal(thrown: unknown): thrown is Error {
  return thrown instanceof Error && 'code' in thrown && Object.values<unknown>(REFUSAL).includes(thrown.code);
}

/** Folders as servers want them named: paths, from the working directory or `~` on, and `file://` URIs as they are. */
export function rootsOf(folders: readonly string[]): readonly McpRoot[] {
  return folders.map((folder) => {
    if (folder.startsWith('file://')) return { uri: folder };
    const path = resolve(/^~(?=$|[\\/])/.test(folder) ? join(homedir(), folder.slice(1)) : folder);
    const name = basename(path);
    return { uri: pathToFileURL(path).href, ...(name === '' ? {} : { name }) };
  });
}
