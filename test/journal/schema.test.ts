import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ModelError } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { OutputSchema } from '../../src/agent/options/output-options.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { type JsonObject, isJsonObject } from '../../src/json/json.ts';
import { FitContext } from '../../src/parsing/schema/fit-context.ts';
import { fit } from '../../src/parsing/schema/fit.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { tool } from '../../src/tools/tool.ts';
import { calls, plan } from '../support/replies.ts';

const text = readFileSync(new URL('../../schema/recording.schema.json', import.meta.url), 'utf8');
const schema: JsonObject = JSON.parse(text);

/** The schema with nothing allowed but what it names: nothing that is written may be missing in it. */
const strict: JsonObject = JSON.parse(text, (key, value: unknown) =>
  isJsonObject(value) && isJsonObject(value['properties']) && value['type'] === 'object' && key !== 'event'
    ? { additionalProperties: false, ...value }
    : value,
);

/** What is wrong with a line. */
function issuesOf(line: JsonObject, by: JsonObject): readonly string[] {
  const { $defs = {} } = by;
  const own = isJsonObject($defs) && typeof line['t'] === 'string' ? ($defs[line['t']] ?? true) : true;
  const context = new FitContext({ ...(isJsonObject(own) ? own : {}), $defs }, { coerce: false });
  fit(line, isJsonObject(own) ? own : true, context);
  return context.issues.map(({ path, message }) => `${String(line['t'])}${path}: ${message}`);
}

function isValid(line: JsonObject): boolean {
  const context = new FitContext(schema, { coerce: false });
  fit(line, schema, context);
  return context.issues.length === 0;
}

const checked = tool({
  name: 'checked',
  description: 'Its arguments are checked by code.',
  inputSchema: z.object({ city: z.string() }),
  validateArgs: (args) => args,
  execute: ({ city }) => ({ city }),
});

const HI = { content: 'Hi.' };
const STATE = { model: 'scripted', data: { thought: 'so' } };

const RUNS: readonly [
  name: string,
  replies: readonly ScriptedReply[],
  options: AgentOptions<unknown, OutputSchema | undefined>,
][] = [
  ['an answer', ['Hi.'], {}],
  ['an answer that has a schema', ['{"n": 1}', '{"n": 2}'], { outputSchema: z.object({ n: z.int().max(9) }) }],
  ['calls', [calls(['a', { x: 1 }], ['a', { x: 2 }]), 'Done.'], { tools: [fakeTool('a', [{ found: [1, null] }])] }],
  ['a plan', [plan(['a'], ['a', { x: '$PREV.y' }]), 'Done.'], { tools: [fakeTool('a', [{ y: 1 }, { y: 2 }])] }],
  ['code in the check', [calls(['checked', { city: 'Oslo' }]), 'Done.'], { tools: [checked] }],
  ['a failing tool', [calls(['a']), 'Done.'], { tools: [fakeTool('a', [new Error('offline')])] }],
  [
    'a repeated call',
    [calls(['a']), 'Done.'],
    {
      tools: [
        fakeTool('a', [new Error('offline'), 'x'], {
          onError: {
            executionError: [recover.retry({ maxAttempts: 2, backoff: recover.constant(1), whenUnknown: true })],
          },
        }),
      ],
    },
  ],
  [
    'a retried request',
    [new ModelError('server-error', 'no', { status: 503 }), 'Hi.'],
    { retry: { backoff: recover.constant(1) } },
  ],
  ['a model that fails', [new Error('no'), new Error('no')], { retry: { backoff: recover.constant(1) } }],
  [
    'large results',
    [calls(['a']), 'Done.'],
    { tools: [fakeTool('a', ['x'.repeat(50_000)])], maxToolResultChars: 99_999 },
  ],
  [
    'an allowed call',
    [calls(['a']), 'Done.'],
    { tools: [fakeTool('a', [1], { policy: 'confirm' })], confirm: () => 'allow-once' },
  ],
  ['a limit', [calls(['a'])], { tools: [fakeTool('a')], maxSteps: 1 }],
  ['a prompt by code', ['Hi.'], { instructions: () => 'Be brief.' }],
  ['JSON mode', ['{"thought":"so","answer":"Hi."}'], { toolCalling: 'json', temperature: 0.5, maxTokens: 9 }],
  [
    'a conversation',
    ['Hi.'],
    {
      history: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
      ],
    },
  ],
  [
    'a child',
    [calls(['helper', { task: 'Help.' }]), 'Done.'],
    { children: [createAgent({ name: 'helper', model: scriptedModel(['Helped.']), silent: true })] },
  ],
  ['a budget', [calls(['a'])], { tools: [fakeTool('a')], budget: { maxToolCalls: 1 } }],
  ['a limit of messages', ['Hi.'], { maxSteers: 3 }],
  ['a model that takes files', [], { model: { takesImages: true, takesFiles: true, complete: async () => HI } }],
  ['several models', ['Hi.'], { model: [{ takesFiles: true, complete: async () => HI }, scriptedModel(['Hi.'])] }],
  ['what a model needs back', ['Hi.'], { history: [{ role: 'assistant', content: 'Hi', providerState: STATE }] }],
];

async function linesOf(
  replies: readonly ScriptedReply[],
  options: AgentOptions<unknown, OutputSchema | undefined>,
): Promise<readonly JsonObject[]> {
  const agent = createAgent({ model: scriptedModel(replies), silent: true, ...options });
  const run = agent.run('Do it.', { metadata: { ticket: 17 } });
  await run;
  return run
    .recording()
    .trimEnd()
    .split('\n')
    .map((line): JsonObject => JSON.parse(line));
}

describe('the schema of a line', () => {
  test.each(RUNS)('fits every line of a run with %s, and names every member', async (_name, replies, options) => {
    const lines = await linesOf(replies, options);
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.flatMap((line) => issuesOf(line, strict))).toEqual([]);
    expect(lines.every(isValid)).toBe(true);
  });

  test('fits every line of the recordings that are kept with the tests', () => {
    const files = globSync('../recordings/*.jsonl', { cwd: import.meta.dirname });
    expect(files.length).toBeGreaterThan(5);
    const lines = files.flatMap((file) =>
      readFileSync(`${import.meta.dirname}/${file}`, 'utf8')
        .trimEnd()
        .split('\n'),
    );
    expect(lines.flatMap((line) => issuesOf(JSON.parse(line), strict))).toEqual([]);
  });

  test('fits a run that was asked about an image and a file, and one with what was queued before it', async () => {
    const model = { takesImages: true, takesFiles: true, complete: async () => HI };
    const agent = createAgent({ model, silent: true });
    const image = { type: 'image', data: 'aGk=', mediaType: 'image/png' } as const;
    const file = { type: 'file', data: 'aGk=', mediaType: 'application/pdf', filename: 'a.pdf' } as const;
    const run = agent.run([{ type: 'text', text: 'What is this?' }, image, file]);
    await run;
    const [head = {}] = run
      .recording()
      .split('\n', 1)
      .map((line): JsonObject => JSON.parse(line));
    const queued = [{ id: 'm1', text: 'And then?', metadata: { ticket: 17 } }];
    for (const line of [head, { ...head, queued }]) expect(issuesOf(line, strict)).toEqual([]);
    expect(isValid({ ...head, queued: [{ id: 'm1' }] })).toBe(false);
    expect(isValid({ ...head, content: 'text' })).toBe(false);
  });

  test('fits a cancelled run, an approval from outside, a fork and a restart', async () => {
    const [head = {}] = await linesOf(['Hi.'], {});
    const lines: readonly JsonObject[] = [
      { ...head, cancelled: 'the user left', parent: { runId: 'first', entry: 4 } },
      { t: 'event', at: 3, event: { type: 'approval.given', always: false }, to: 'agent/c1' },
      { t: 'event', at: 3, event: { type: 'run.cancelled', reason: 'enough' } },
      { t: 'restart', at: 9 },
      { t: 'note', at: 9, note: { note: 'token' } },
    ];
    expect(lines.flatMap((line) => issuesOf(line, strict))).toEqual([]);
    expect(lines.every(isValid)).toBe(true);
  });

  test('fits stored lines, which have a checksum', async () => {
    expect(isValid({ t: 'restart', at: 9, sum: '17.0123456789abc' })).toBe(true);
  });

  test('takes kinds and members that it does not know: they are for newer readers', async () => {
    const [head = {}] = await linesOf(['Hi.'], {});
    expect(isValid({ t: 'weather', sky: 'blue' })).toBe(true);
    expect(isValid({ ...head, mood: 'good' })).toBe(true);
  });

  test.each<[string, (line: JsonObject) => JsonObject]>([
    ['a newer format', (line) => ({ ...line, format: 2 })],
    ['no kind', ({ t: _t, ...line }) => line],
    ['a missing member', ({ input: _input, ...line }) => line],
    ['a wrong type', (line) => ({ ...line, seed: 'x' })],
    ['a message of nobody', (line) => ({ ...line, history: [{ role: 'nobody', content: 'x' }] })],
  ])('refuses a first line with %s', async (_what, spoil) => {
    const [head = {}] = await linesOf(['Hi.'], {});
    expect(isValid(head)).toBe(true);
    expect(isValid(spoil(head))).toBe(false);
  });

  test.each<JsonObject>([
    { t: 'outcome', at: 1, id: 'agent#1', ok: true, error: { code: 'x', message: 'y' } },
    { t: 'outcome', at: 1, id: 'agent#1', ok: false },
    { t: 'start', at: -1, id: 'timer#1', name: 'timer', effects: 'none', digest: '', key: '' },
    { t: 'start', at: 1, id: 'timer#1', name: 'timer', effects: 'twice', digest: '', key: '' },
    { t: 'event', at: 1, event: {} },
    { t: 'end', at: 1 },
    { t: 'blob', hash: 'x' },
    { t: 'restart', at: 9, sum: 'x' },
  ])('refuses %j', (line) => {
    expect(isValid(line)).toBe(false);
  });
});
