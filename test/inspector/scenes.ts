import { createAgent } from '../../src/agent/create-agent.ts';
import type { Model } from '../../src/actors/model.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { Run } from '../../src/agent/run/run.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls, plan } from '../support/replies.ts';

/** Runs that together show what a run can look like. */
export const SCENES = ['plain', 'parallel', 'plan-recovery', 'approval', 'loop', 'hostile'] as const;

const text = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const money = {
  type: 'object',
  properties: { to: { type: 'string' }, euros: { type: 'integer' } },
  required: ['to', 'euros'],
};

/** Two calls side by side are held back together; the second then ends a little later than the first. */
const weather = (beforeResult?: () => Promise<void>) => {
  const held = lazily(async () => beforeResult?.());
  const first = async () => {
    await held();
    return { celsius: 31, sky: 'clear' };
  };
  const second = async () => {
    await held();
    await new Promise<void>((resolve) => setImmediate(resolve));
    return { celsius: 4, sky: 'snow' };
  };
  return fakeTool('get_weather', [first, second, { celsius: 17, sky: 'rain' }], {
    description: 'Current weather in a city.',
    effects: 'none',
    inputSchema: text,
  });
};

function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/** Script tags, control characters, text that runs backwards, and much of it. */
export const HOSTILE = [
  '</script><script>document.title = "owned"</script>',
  '<img src=x onerror="document.title = 1"><!-- <script>',
  '\u001B[31mred\u001B[0m \u0007 \u202Eesrever\u202C \u0000 ]]>',
  'x'.repeat(5000),
].join('\n');

/** Starts the run of a scene. A scene that waits for approval goes on waiting. */
export function startScene(scene: (typeof SCENES)[number], { beforeResult, ...options }: SceneOptions = {}): Run {
  switch (scene) {
    case 'plain':
      return start('What time is it?', ['It is half past twelve.'], options);
    case 'parallel':
      return start(
        'Where is it warmer, in Austin or in Oslo?',
        [
          {
            ...calls(['get_weather', { city: 'Austin' }], ['get_weather', { city: 'Oslo' }]),
            content: 'I ask for both.',
          },
          'In Austin: 31 degrees, against 4 in Oslo.',
        ],
        { tools: [weather(beforeResult)], ...options },
      );
    case 'plan-recovery':
      return start(
        'Book a table where it rains.',
        [
          plan(
            ['get_weather', { city: 'Bergen' }],
            ['book_table', { city: '$PREV.city' }],
            ['get_weather', { city: 'Rome' }],
          ),
          new Error('The server is busy.'),
          calls(['book_table', { city: 'Bergen' }]),
          'A table in Bergen is booked.',
        ],
        {
          tools: [
            weather(),
            fakeTool('book_table', [new Error('line busy'), new Error('line busy'), { table: 7 }], {
              description: 'Books a table.',
              inputSchema: text,
              onError: { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(5) }) },
            }),
          ],
          retry: { backoff: { kind: 'constant', ms: 5 } },
          ...options,
        },
      );
    case 'approval':
      return start('Pay Ann 20 euros.', [calls(['pay', { to: 'Ann', euros: 20 }]), 'Ann has her money.'], {
        tools: [fakeTool('pay', [{ receipt: 7 }], { description: 'Pays.', policy: 'confirm', inputSchema: money })],
        confirm: 'wait',
        ...options,
      });
    case 'loop':
      return start(
        'Find it.',
        Array.from({ length: 5 }, () => calls(['search', { q: 'it' }])),
        { tools: [fakeTool('search', [{ hits: 0 }], { inputSchema: { type: 'object' } })], ...options },
      );
    case 'hostile':
      return start(
        HOSTILE.slice(0, 300),
        [calls(['read', { path: HOSTILE.slice(0, 200) }]), `It says: ${HOSTILE.slice(0, 400)}`],
        {
          tools: [fakeTool('read', [{ text: HOSTILE }], { inputSchema: { type: 'object' } })],
          ...options,
        },
      );
  }
}

function start(
  input: string,
  replies: readonly ScriptedReply[],
  { beforeReply, ...options }: Omit<SceneOptions, 'beforeResult'>,
): Run {
  const script = scriptedModel(replies);
  const model: Model = {
    id: 'scripted',
    complete: async (request, io) => {
      await beforeReply?.(script.requests.length + 1);
      return script.complete(request, io);
    },
  };
  return createAgent({ name: 'assistant', model, silent: true, seed: 1, ...options }).run(input);
}

/** Options of the agent; the hooks may hold the model back before its n-th reply, and the first call of a tool. */
interface SceneOptions extends AgentOptions {
  readonly beforeReply?: (n: number) => Promise<void>;
  readonly beforeResult?: () => Promise<void>;
}
