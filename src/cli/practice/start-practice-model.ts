import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import type { Model } from '../../actors/model.ts';
import { chatModel } from '../../models/chat/chat-model.ts';
import { makeMistakes, outageFor, type Outage } from './practice-mistakes.ts';
import { readScene, type PracticeRequest } from './read-scene.ts';
import { renderReply, PRACTICE_MODEL, writeReply } from './write-reply.ts';
import type { Scene, PracticeDecision, Rule } from './scene.ts';
import { anyTool, arithmetic, planOnRequest } from './any-tool.ts';
import { listFolder } from './list-folder.ts';
import { readFile, searchFiles } from './find-file.ts';
import { frankAnswer, smallTalk } from './small-talk.ts';
import { isJsonObject } from '../../json/json.ts';

/** A running practice model. */
export interface PracticeModel {
  /** Where it speaks Chat Completions, up to and including `/v1`. */
  readonly baseURL: string;
  /** A model that asks it. */
  readonly model: Model;
  /** Ends the server and every connection to it. */
  close(): Promise<void>;
}

/**
 * Starts the practice model: a rule-based stand-in, no LLM, that speaks Chat Completions on loopback and does real work
 * with the tools it is given. It keeps nothing of a conversation. A question may ask for the mistakes that local models
 * make, with words such as `practice:broken-json`; docs/practice-model.md lists them.
 *
 * @example
 * const practice = await startPracticeModel();
 * const agent = createAgent({ model: practice.model });
 * await practice.close();
 */
export async function startPracticeModel(options: { readonly port?: number } = {}): Promise<PracticeModel> {
  const failedOnce = new Set<string>();
  const server = createServer((request, response) => {
    handle(request, response, failedOnce).catch(() => response.destroy());
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const baseURL = `http://127.0.0.1:${String(port)}/v1`;
  return {
    baseURL,
    model: chatModel({ baseURL, model: PRACTICE_MODEL }),
    async close() {
      server.closeAllConnections();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

async function handle(request: IncomingMessage, response: ServerResponse, failedOnce: Set<string>): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  if (request.method === 'GET' && path.endsWith('/models')) return sendJson(response, 200, modelList());
  if (request.method !== 'POST' || !path.endsWith('/chat/completions')) {
    return sendError(response, { kind: 'error', status: 404, message: `there is nothing at ${path}` });
  }
  const text = await readText(request);
  const chat = readRequest(text);
  if (chat === undefined)
    return sendError(response, { kind: 'error', status: 400, message: 'this is no chat request' });

  const scene = readScene(chat);
  const outage = outageFor(scene, isFirstTry(text, scene, failedOnce));
  if (outage?.kind === 'error') return sendError(response, outage);
  const decided = scene.mistakes.includes('loop') ? decide({ ...scene, finished: [] }) : decide(scene);
  const reply = makeMistakes(renderReply(decided, scene), scene);
  const paceMs = scene.mistakes.includes('slow') ? SLOW_MS : 0;
  return writeReply(response, reply, { request: chat, paceMs, hangUp: outage?.kind === 'hang-up' });
}

const SLOW_MS = 80;

/** The same request fails once; its repetition succeeds, and the one after that fails again. */
function isFirstTry(text: string, scene: Scene, failedOnce: Set<string>): boolean {
  if (scene.mistakes.length === 0 || failedOnce.delete(text)) return false;
  failedOnce.add(text);
  return true;
}

function modelList() {
  const entry = { id: PRACTICE_MODEL, object: 'model', created: 0, owned_by: 'signalbox' };
  return { object: 'list', data: [{ ...entry, description: 'a rule-based stand-in, no LLM' }] };
}

function sendError(
  response: ServerResponse,
  { status, message, param, retryAfterMs }: Extract<Outage, { readonly kind: 'error' }>,
): void {
  if (retryAfterMs !== undefined) response.setHeader('retry-after-ms', String(retryAfterMs));
  sendJson(response, status, { error: { message, type: 'practice', param: param ?? null, code: null } });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** What the practice model can do, the most particular first. */
const RULES: readonly Rule[] = [planOnRequest, smallTalk, searchFiles, readFile, listFolder, arithmetic, anyTool];

/** What the practice model says next. The same scene always gives the same decision. */
function decide(scene: Scene): PracticeDecision {
  for (const rule of RULES) {
    const decision = rule(scene);
    if (decision !== undefined) return decision;
  }
  return frankAnswer(scene) ?? { kind: 'answer', text: '' };
}

/** Reads a chat request; undefined when it is none. */
function readRequest(text: string): PracticeRequest | undefined {
  const body = parsed(text);
  const messages: readonly unknown[] = isJsonObject(body) && Array.isArray(body['messages']) ? body['messages'] : [];
  if (!isJsonObject(body) || messages.length === 0) return undefined;
  const options = body['stream_options'];
  return {
    messages: messages.filter(isJsonObject),
    tools: Array.isArray(body['tools']) ? body['tools'] : [],
    stream: body['stream'] === true,
    includeUsage: isJsonObject(options) && options['include_usage'] === true,
  };
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
