import { z } from 'zod';
import type { ModelReply, ModelRequest } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { JsonObject } from '../../src/json/json.ts';
import type { TextCalls } from '../../src/parsing/reply/reply-source.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';

/** `held to native`: auto, with a model that has called natively before. */
export type Mode = 'native' | 'held to native' | 'auto' | 'json';

export const MODES: readonly Mode[] = ['native', 'held to native', 'auto', 'json'];

/** What a reply led to. */
export interface Outcome {
  readonly executed: readonly { readonly tool: string; readonly args: JsonObject }[];
  readonly answer: string | null;
  /** The requests that the model got before it was told a result or gave up. */
  readonly asked: number;
  readonly warnings: readonly { readonly code?: string; readonly message: string }[];
}

/** Says what an agent does with a reply of its model, or with several: what the model says each time that it is asked. */
export type Judge = (content: string | readonly (string | ModelReply)[], finishReason?: string) => Promise<Outcome>;

/** All arguments may be left out, so that nothing but the reading protects from a call that was cut. */
const FIELDS = {
  text: z.string().optional(),
  count: z.number().optional(),
  flag: z.boolean().optional(),
  data: z.unknown().optional(),
};

/** The names under which the tools of these tests are registered; `note` is a beginning of `note_all`. */
export const TOOLS: readonly string[] = ['note', 'note_all', 'wipe'];

const DONE = 'That is all.';
/** How often a model repeats its text before it gives up. */
const PATIENCE = 2;

/**
 * An agent in one mode, whose model says one text: after a result it is done, asked again it repeats itself, and the third
 * time gives up. Every text is judged alone: a fresh model, no history. One agent serves all texts.
 */
export function agentIn(mode: Mode, textCalls?: TextCalls): Judge {
  const executed: { readonly tool: string; readonly args: JsonObject }[] = [];
  const warnings: { readonly code?: string; readonly message: string }[] = [];
  const agent = createAgent({
    toolCalling: mode === 'held to native' ? 'auto' : mode,
    // Spread, because an object without the option is what an agent gets by default.
    ...(textCalls === undefined ? {} : { textCalls }),
    model: scriptedModel([]),
    tools: TOOLS.map((name) =>
      tool({
        name,
        description: `The tool ${name}.`,
        inputSchema: z.object(FIELDS),
        execute: (args) => {
          executed.push({ tool: name, args: JSON.parse(JSON.stringify(args)) });
          return 'ok';
        },
      }),
    ),
    maxSteps: 6,
    silent: true,
    seed: 1,
    onEvent: (event) => {
      if (event.type === 'warning') warnings.push(event);
    },
  });
  return async (content, finishReason) => {
    const ending = finishReason === undefined ? {} : { finishReason };
    const { model, asked } = repeating(
      typeof content === 'string' ? { reply: { content, ...ending } } : { script: content },
      mode,
    );
    agent.configure({ model });
    agent.clearHistory();
    if (mode === 'held to native') await agent.run('Begin.');
    agent.clearHistory();
    executed.length = 0;
    warnings.length = 0;
    const { result } = await agent.run('Go on.');
    return { executed: [...executed], answer: result, asked: asked(), warnings: [...warnings] };
  };
}

/** A reply that is said again and again until a result is there, or a list: every reply once, whatever comes between. */
type Said = { readonly reply: ModelReply } | { readonly script: readonly (string | ModelReply)[] };

function repeating(said: Said, mode: Mode) {
  let asked = 0;
  const say = ({ messages }: ModelRequest): ModelReply | string => {
    if ('script' in said) return said.script[asked++] ?? DONE;
    const last = messages.findLast(({ role }) => role === 'user' || role === 'tool');
    if (last?.role === 'tool' || String(last?.content).includes('"status"')) return DONE;
    asked += 1;
    return asked > PATIENCE ? 'I give up.' : said.reply;
  };
  const first: readonly (ModelReply | string)[] =
    mode === 'held to native' ? [{ content: '', toolCalls: [{ name: 'note', arguments: {} }] }, DONE] : [];
  const requests = () => ('script' in said ? Math.min(asked, said.script.length) : asked);
  return { model: scriptedModel([...first, ...Array.from({ length: 6 }, () => say)]), asked: requests };
}

/** The names of the tools that ran. */
export function ran({ executed }: Outcome): readonly string[] {
  return executed.map(({ tool: name }) => name);
}

/** The cases that break a claim: how many, and the first of them, so that a failure can be read. */
export interface Wrong {
  readonly count: number;
  readonly first: readonly string[];
}

/** What {@link wrongOnes} finds where a claim holds. */
export const NONE_WRONG: Wrong = { count: 0, first: [] };

const SHOWN = 15;

/** Holds a claim against every case; `fault` says what is wrong with one, undefined: nothing. */
export async function wrongOnes<Case>(
  cases: readonly Case[],
  fault: (one: Case) => Promise<string | undefined> | string | undefined,
): Promise<Wrong> {
  const wrong: string[] = [];
  for (const one of cases) {
    const found = await fault(one);
    if (found !== undefined) wrong.push(found.slice(0, LONGEST));
  }
  return { count: wrong.length, first: wrong.slice(0, SHOWN) };
}

const LONGEST = 600;
