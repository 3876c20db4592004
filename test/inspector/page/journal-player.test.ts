import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { Frame } from '../../../src/inspector/frames/protocol.ts';
import { writtenOutcome } from '../../../src/journal/format/cut-recording.ts';
import type { RecordLine } from '../../../src/journal/format/record.ts';
import { JournalPlayer } from '../../../src/inspector/page/player/journal-player.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { chatModel } from '../../../src/models/index.ts';
import { type Scripted, startModelServer } from '../../support/model-server.ts';
import { tool } from '../../../src/tools/tool.ts';
import { calls } from '../../support/replies.ts';
import { startScene } from '../scenes.ts';
import { viewer } from '../viewer.ts';
import { inspector } from '../with-inspector.ts';

function played(lines: readonly string[]) {
  const frames: Frame[] = [];
  const player = new JournalPlayer('s', (frame) => void frames.push(frame));
  for (const line of lines) player.take(line);
  return { frames, player };
}

const linesOf = (recording: string): readonly string[] => recording.trim().split('\n');
const stepsIn = (frames: readonly Frame[]) => frames.flatMap((frame) => (frame.t === 'step' ? [frame.step] : []));

async function recorded(): Promise<readonly string[]> {
  const run = startScene('plan-recovery');
  await run;
  return linesOf(run.recording());
}

test('a step whose origin was let go of has the same details as before, and so have those that come later', async () => {
  const lines = await recorded();
  const kept = played(lines).player;
  const half = Math.floor(lines.length / 2);
  const { player, frames } = played(lines.slice(0, half));
  const first = stepsIn(frames).length;
  player.rest();
  expect(player.detail(3)).toEqual(kept.detail(3));
  for (const line of lines.slice(half)) player.take(line);
  const last = stepsIn(frames).length;
  expect(last).toBeGreaterThan(first);
  for (const n of [1, 3, first, first + 1, last]) expect(player.detail(n)).toEqual(kept.detail(n));
  for (const n of [0, -1, last + 1]) expect(player.detail(n)).toBeNull();
});

test('a line that is damaged is said, once, and the records after it are shown all the same', async () => {
  const lines = await recorded();
  const place = Math.floor(lines.length / 2);
  const { frames, player } = played([...lines.slice(0, place), '{"t":"outco', '{"t":', ...lines.slice(place)]);
  const problems = frames.filter(({ t }) => t === 'problem');
  expect(problems).toMatchObject([
    { session: 's', problem: expect.stringContaining(`Line ${place + 1} cannot be read`) },
  ]);
  expect(frames.filter(({ t }) => t === 'record')).toHaveLength(lines.length);
  expect(player.count).toBe(lines.length);
  expect(played(lines).frames.some(({ t }) => t === 'problem')).toBe(false);
});

test('a record that cannot be shown is said with its own number, not with that of the next', async () => {
  const lines = await recorded();
  const place = lines.findIndex((line) => line.startsWith('{"t":"start"') && line.includes('callTool'));
  const { id }: { readonly id: string } = JSON.parse(lines[place] ?? '');
  const broken = JSON.stringify({ t: 'note', at: 1, id, note: null });
  const { frames } = played([...lines.slice(0, place + 1), broken, ...lines.slice(place + 1)]);
  const problems = frames.flatMap((frame) => (frame.t === 'problem' ? [frame.problem] : []));
  expect(problems).toEqual([expect.stringContaining(`Line ${place + 2} cannot be read`)]);
});

test('from where this version plays otherwise there are records without moves, and it is said why', async () => {
  const lines = await recorded();
  const place = lines.findLastIndex((line) => line.startsWith('{"t":"start"') && line.includes('callLlm'));
  const changed = lines.map((line, n) => (n === place ? line.replace(/"digest":"[^"]*"/, '"digest":"other"') : line));
  const [whole, cut] = [played(lines), played(changed)];
  expect(cut.frames.filter(({ t }) => t === 'problem')).toMatchObject([
    { problem: expect.stringMatching(/left the recording/) },
  ]);
  expect(cut.frames.filter(({ t }) => t === 'record')).toHaveLength(lines.length);
  const steps = stepsIn(cut.frames);
  expect(steps.length).toBeGreaterThan(20);
  expect(steps).toEqual(stepsIn(whole.frames).slice(0, steps.length));
  expect(steps.length).toBeLessThan(stepsIn(whole.frames).length);
});

test('tokens stand where they were said, and change nothing else', async () => {
  const lines = await recorded();
  const asked = lines.findIndex((line) => line.includes('"callLlm"')) + 1;
  const token = {
    type: 'model.token',
    kind: 'text',
    text: 'It',
    attempt: 1,
    index: 0,
    thought: '',
    answer: '',
    seq: 1,
  };
  const said = JSON.stringify({ t: 'said', event: { ...token, replayed: false } });
  const { frames } = played([...lines.slice(0, asked), said, ...lines.slice(asked)]);
  const place = frames.findIndex((frame) => frame.t === 'event' && frame.event.type === 'model.token');
  const before = frames.slice(0, place);
  expect(before.filter(({ t }) => t === 'record')).toHaveLength(asked);
  expect(frames[place]).toMatchObject({ step: stepsIn(before).length, at: expect.any(Number) });
  expect(frames.filter((_, n) => n !== place)).toEqual(played(lines).frames);
});

test('a recording in which large payloads stand once shows what the lines that were sent of its run did', async () => {
  const shown = await inspector();
  const text = 'é<>'.repeat(8000);
  const run = createAgent({
    model: scriptedModel([calls(['read', { n: 1 }]), calls(['read', { n: 2 }]), 'Done.']),
    tools: [fakeTool('read', [{ text }, { text }])],
    silent: true,
    inspect: shown,
  }).run('Read it.');
  await run;
  const [recording, sent] = [linesOf(run.recording()), linesOf(await viewer(shown.url).lines(run.runId))];
  expect(recording.some((line) => line.startsWith('{"t":"blob"'))).toBe(true);
  expect(sent.some((line) => line.startsWith('{"t":"blob"'))).toBe(false);
  expect(played(recording).frames).toEqual(played(sent).frames);
  expect(played(recording.filter((line) => !line.startsWith('{"t":"blob"'))).frames).toContainEqual(
    expect.objectContaining({ t: 'problem', problem: expect.stringContaining('payload that is missing') }),
  );
});

test('an agent three deep is shown live as its recording shows it, each agent with its own drawing and name', async () => {
  const shown = await inspector();
  const pay = fakeTool('pay', [{ receipt: 7 }], { policy: 'confirm', inputSchema: { type: 'object' } });
  const tower = (height: number): ReturnType<typeof createAgent> =>
    createAgent({
      name: `level${height}`,
      description: `Stands at ${height}.`,
      model: scriptedModel([
        height === 0 ? calls(['pay', {}]) : calls([`level${height - 1}`, { task: 'Pay.' }]),
        `Answer of level${height}`,
      ]),
      silent: true,
      confirm: 'wait',
      ...(height === 0 ? { tools: [pay] } : { children: [tower(height - 1)] }),
    });
  const run = tower(3).run('Pay, far below', { inspect: shown });
  const look = viewer(shown.url);
  const isOver = (frame: Frame): boolean => frame.t === 'record' && frame.record.t === 'end';
  let live: Promise<readonly Frame[]> | null = null;
  for await (const event of run) {
    if (event.type !== 'approval.requested') continue;
    live = look.frames(run.runId, isOver);
    await look.frames(run.runId, (frame) => frame.t === 'event' && frame.event.type === 'approval.requested');
    await run.approve(event.callId);
  }
  const seen = (await live) ?? [];
  expect(seen.filter(({ t }) => t !== 'hello')).toEqual(
    played(linesOf(run.recording())).frames.map((frame) =>
      'session' in frame ? { ...frame, session: run.runId } : frame,
    ),
  );
  const named = seen.flatMap((frame) =>
    frame.t === 'actor' && frame.actor.name !== undefined ? [frame.actor.name] : [],
  );
  expect(named).toEqual(expect.arrayContaining(['level3', 'level2', 'level1', 'level0', 'pay']));
});

test('an outcome from which the machine cannot continue is refused before a fork begins', async () => {
  const run = startScene('parallel');
  await run;
  const lines = linesOf(run.recording());
  const { player, frames } = played(lines);
  const before = frames.length;
  const replied = 1 + lines.findIndex((line) => line.startsWith('{"t":"outcome"') && line.includes('llmCall'));
  const looked = 1 + lines.findIndex((line) => line.startsWith('{"t":"outcome"') && line.includes('callTool'));
  for (const outcome of [5, 'x', {}, { content: 5 }])
    expect(player.refusal(replied, outcome)).toMatch(/The model's reply cannot be read: /);
  expect(player.refusal(replied, { content: 'Oslo.' })).toBeNull();
  expect(player.refusal(looked, { status: 'success', data: { celsius: 3 } })).toBeNull();
  expect(player.refusal(2, { content: 'Oslo.' })).toBeNull();
  expect(player.refusal(lines.length, {})).toMatch(/can be cut after its records/);
  expect(frames.length).toBe(before);
  expect(player.detail(5)).toEqual(played(lines).player.detail(5));
});

test('so is one that a machine within the run cannot take, which ends the run but is no ending that it has', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    inputSchema: { type: 'object', properties: {} },
    validateArgs: (args) => args,
    execute: () => 'a cat',
  });
  const run = createAgent({ tools: [look], model: scriptedModel([calls(['look']), 'A cat.']), silent: true }).run(
    'Look.',
  );
  await run;
  const lines = linesOf(run.recording());
  const checked = 1 + lines.findIndex((line) => line.startsWith('{"t":"outcome"') && line.includes('checkArgs'));
  const { player } = played(lines);
  expect(player.refusal(checked, 5)).toMatch(/cannot continue with this outcome of agent\/c1\/checkArgs#1: /);
  expect(player.refusal(checked, { ok: false, error: { code: 'thrown', message: 'No.' } })).toBeNull();
});

test('what a check gave is an outcome itself, and is taken as it is written', async () => {
  const run = createAgent({
    model: scriptedModel(['{"n": 4}']),
    outputSchema: z.object({ n: z.number() }),
    checkOutput: () => undefined,
    silent: true,
  }).run('Count.');
  await run;
  const lines = linesOf(run.recording());
  const checked = 1 + lines.findIndex((line) => line.startsWith('{"t":"outcome"') && line.includes('checkOutput'));
  const { player } = played(lines);
  const given = { ok: true, value: { n: 7 } };
  expect(player.refusal(checked, given)).toBeNull();
  expect(player.refusal(checked, { ok: true, value: given })).toBeNull();
  expect(player.refusal(checked, { n: 7 })).toMatch(/cannot continue/);
  const record: RecordLine = JSON.parse(lines[checked - 1] ?? '');
  for (const written of [given, { ok: true, value: given }])
    expect(writtenOutcome(written, record)).toEqual({ ok: true, value: given });
});

test('what was learnt of an endpoint, and why it was asked again, is shown live and stays after a reload', async () => {
  const refused = (param: string): Scripted => ({
    status: 400,
    body: { error: { message: 'no', param, code: 'unsupported_parameter' } },
  });
  const asked = Promise.withResolvers<void>();
  const watched = Promise.withResolvers<void>();
  const server = await startModelServer(async ({ body }) => {
    asked.resolve();
    await watched.promise;
    if (body['temperature'] !== undefined) return refused('temperature');
    return body['tools'] === undefined ? '{"answer": "Done."}' : refused('tools');
  });
  onTestFinished(() => server.close());
  const shown = await inspector();
  const agent = createAgent({
    model: chatModel({ baseURL: server.baseURL, model: 'm' }),
    temperature: 0,
    tools: [fakeTool('read', [{}])],
    silent: true,
    inspect: shown,
  });
  const run = agent.run('Read it.');
  await asked.promise;
  const live = viewer(shown.url).frames(run.runId, (frame) => frame.t === 'record' && frame.record.t === 'end');
  watched.resolve();
  expect(await run).toMatchObject({ result: 'Done.' });
  const told = (frames: readonly Frame[]) =>
    frames.flatMap((frame) => (frame.t === 'event' && frame.event.type === 'warning' ? [frame.event] : []));
  expect(told(await live)).toMatchObject([
    { type: 'warning', message: expect.stringContaining('takes no native tool calls at http') },
    { type: 'warning', message: expect.stringContaining("refused 'temperature', so it is left out from now on") },
  ]);
  expect(told(played(linesOf(await viewer(shown.url).lines(run.runId))).frames)).toEqual(told(await live));
});
