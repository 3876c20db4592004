import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import type { Model } from '../../actors/model.ts';
import { chatModel } from '../../models/chat/chat-model.ts';
import { makeMistakes, outageFor, type Outage, renderReply, PRACTICE_MODEL, writeReply } from './write-reply.ts';
import {
  readScene,
  type PracticeRequest,
  type Scene,
  type PracticeDecision,
  type Rule,
  findTool,
  wasCalled,
  type Finished,
  type PracticeCall,
} from './scene.ts';
import { listFolder } from './list-folder.ts';
import { readFile, searchFiles } from './find-file.ts';
import { isJsonObject, parsedText } from '../../json/json.ts';
import { listed, phraseResult } from './phrase.ts';
import { fillArguments, findValues, matchTool } from './fill-arguments.ts';

/** Calls the tool that the question names or implies, with the values that stand in the question, and reports the result. */
const anyTool: Rule = (scene) => {
  const { question, finished } = scene;
  if (finished.some((call) => call.result.ok)) return told(finished);
  const tool = matchTool(scene, question);
  if (tool === undefined) return undefined;
  const filled = fillArguments(tool, question);
  if (!filled.ok) {
    const wanted = listed(filled.missing.map((name) => `\`${name}\``));
    return { kind: 'answer', text: `To use \`${tool.name}\` I need ${wanted}. Please say it in your question.` };
  }
  const call = { tool: tool.name, args: filled.args };
  return wasCalled(scene, call)
    ? told(finished)
    : { kind: 'calls', thought: `The question asks for ${tool.name}.`, calls: [call] };
};

/** The outcomes of the calls; a failure that a later attempt has fixed is not mentioned. */
function told(finished: readonly Finished[]): PracticeDecision {
  const worked = finished.filter((call) => call.result.ok).map((call) => call.tool);
  const said = finished.filter((call) => call.result.ok || !worked.includes(call.tool));
  return { kind: 'answer', text: said.map(phraseResult).join('\n') };
}

const PLAN = /^\s*plan\s*:\s*/i;
const BETWEEN = /\s*(?:,?\s*\b(?:and\s+)?then\b|;|->|→)\s*/i;

/** `plan: a then b`: makes a plan of one step for each part, and reports what came of it. */
const planOnRequest: Rule = (scene) => {
  const { question, finished } = scene;
  if (!PLAN.test(question)) return undefined;
  if (finished.length > 0) return { kind: 'answer', text: finished.map(phraseResult).join('\n') };
  const parts = question
    .replace(PLAN, '')
    .split(BETWEEN)
    .filter((part) => part.trim() !== '');
  const steps = parts.map((part): PracticeCall | string => {
    const tool = matchTool(scene, part);
    if (tool === undefined) return `no tool fits "${part}"`;
    const filled = fillArguments(tool, part);
    return filled.ok ? { tool: tool.name, args: filled.args } : `\`${tool.name}\` needs ${listed(filled.missing)}`;
  });
  const problems = steps.filter((step) => typeof step === 'string');
  if (problems.length > 0) return { kind: 'answer', text: `I cannot plan that: ${listed(problems)}.` };
  const calls = steps.filter((step) => typeof step !== 'string');
  return { kind: 'plan', thought: `This takes ${String(calls.length)} steps.`, steps: calls };
};

const OPERATION_WORDS: Readonly<Record<string, string>> = {
  '+': 'add sum plus',
  '-': 'subtract minus',
  '*': 'multiply times product',
  '/': 'divide quotient',
  '^': 'power',
  '%': 'modulo remainder',
};

/** Has a sum in the question worked out by a tool that calculates, whatever it is called. */
const arithmetic: Rule = (scene) => {
  const { expression } = findValues(scene.question);
  if (expression === undefined || scene.finished.length > 0) return undefined;
  const operations = Object.entries(OPERATION_WORDS).filter(([sign]) => expression.slice(1).includes(sign));
  const meaning = `calculate calculator math arithmetic expression ${operations.map(([, words]) => words).join(' ')}`;
  const tool = matchTool(scene, `${scene.question} ${meaning}`);
  const filled = tool === undefined ? undefined : fillArguments(tool, `${scene.question} (${meaning})`);
  if (tool === undefined || filled?.ok !== true) return undefined;
  return {
    kind: 'calls',
    thought: `I have ${expression} worked out.`,
    calls: [{ tool: tool.name, args: filled.args }],
  };
};

const GREETING =
  /^(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)\b[\s,!.]*(?:there|everyone|signalbox)?[\s!.]*$/i;
const THANKS = /^(?:thanks|thank you|thx|cheers)\b/i;
const WHO = /\b(?:who|what) are you\b|\bwhat can you do\b|^help\b|\bwhich model\b/i;

/** Greets, and says what the practice model is. */
const smallTalk: Rule = (scene) => {
  const { question } = scene;
  if (GREETING.test(question)) {
    return {
      kind: 'answer',
      text: `Hello! I am the practice model, a rule-based stand-in and no LLM. ${abilities(scene)}`,
    };
  }
  if (THANKS.test(question)) return { kind: 'answer', text: 'You are welcome.' };
  if (WHO.test(question))
    return { kind: 'answer', text: `I am signalbox-practice, a rule-based stand-in and no LLM. ${abilities(scene)}` };
  return undefined;
};

/** The last rule: replies that the practice model cannot help, and what it can do. */
const frankAnswer = (scene: Scene): PracticeDecision => ({
  kind: 'answer',
  text:
    'I cannot answer that: I am only the practice model, a rule-based stand-in and no LLM. ' +
    `${abilities(scene)} For real answers configure a model, for instance with SIGNALBOX_MODEL.`,
});

function abilities(scene: Scene): string {
  const { tools } = scene;
  const canList = findTool(scene, 'list_directory_with_sizes', 'list_directory') !== undefined;
  const canRead = findTool(scene, 'read_text_file', 'read_file') !== undefined;
  const examples = [
    ...(canList ? ['"What is in this folder, and which file is the largest?"'] : []),
    ...(canRead ? ['"What are the first 3 lines of README.md?"'] : []),
  ];
  if (examples.length > 0) return `I do real work with real tools; try ${listed(examples)}.`;
  const names = tools.slice(0, 8).map((tool) => `\`${tool.name}\``);
  if (names.length === 0) return 'I have no tools here, so I can only chat about myself.';
  return `I do real work with real tools; name one and its arguments. Here I have ${listed(names)}.`;
}

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
 * with the tools it is given. It keeps no conversations. A question may ask for the mistakes that local models make,
 * with words such as `practice:broken-json`; docs/practice-model.md lists them.
 *
 * @example
 * const practice = await startPracticeModel();
 * const agent = createAgent({ model: practice.model });
 * await practice.close();
 */
export async function startPracticeModel(): Promise<PracticeModel> {
  const failedOnce = new Set<string>();
  const server = createServer((request, response) => {
    handle(request, response, failedOnce).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const baseURL = `http://127.0.0.1:${String(port)}/v1`;
  return {
    baseURL,
    // Half of the time that a short command takes would be spent on loading the package `openai`.
    model: chatModel({ baseURL, model: PRACTICE_MODEL, transport: 'direct' }),
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
  if (request.method !== 'POST' || !path.endsWith('/chat/completions'))
    return sendError(response, { kind: 'error', status: 404, message: `there is nothing at ${path}` });
  const text = await readText(request);
  const chat = readRequest(text);
  if (chat === undefined)
    return sendError(response, { kind: 'error', status: 400, message: 'this is not a chat request' });

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
  return frankAnswer(scene);
}

/** Reads a chat request; undefined when it is none. */
function readRequest(text: string): PracticeRequest | undefined {
  const body = parsedText(text);
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
