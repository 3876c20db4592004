import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileJournal } from '../../src/journal/index.ts';
import type { Frame } from '../../src/inspector/frames/protocol.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';
import { testFolder } from '../support/test-folder.ts';
import { startScene } from './scenes.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

const isEnd = (frame: Frame): boolean => frame.t === 'record' && frame.record.t === 'end';

async function recorded(scene: 'plain' | 'parallel' = 'plain'): Promise<string> {
  const run = startScene(scene);
  await run;
  return run.recording();
}

const startsWithWhere: unknown = expect.stringMatching(/^Where/);
const matches = (pattern: RegExp): unknown => expect.stringMatching(pattern);

describe('a recording', () => {
  test('is shown with all its steps, made anywhere, and can be taken away again as it was', async () => {
    const shown = await inspector();
    const recording = await recorded('parallel');
    const id = shown.open(recording);
    const { frames, get } = viewer(shown.url);
    const seen = await frames(id, isEnd);
    expect(seen.filter(({ t }) => t === 'step').length).toBeGreaterThan(20);
    const download = await get(`/api/sessions/${id}/recording`);
    expect(download.headers.get('content-disposition')).toMatch(/attachment; filename=".+\.jsonl"/);
    expect(await download.text()).toBe(recording);
  });

  test('can be handed in by the page', async () => {
    const shown = await inspector();
    const { searchParams, origin } = new URL(shown.url);
    const send = async (body: string): Promise<unknown> => {
      const headers = { 'content-type': 'application/x-ndjson' };
      return (
        await fetch(`${origin}/api/recordings?token=${searchParams.get('token')}`, { method: 'POST', headers, body })
      ).json();
    };
    expect(await send(await recorded())).toMatchObject({ ok: true, session: expect.any(String) });
    const long = (await recorded()).replace('What time is it?', 'long '.repeat(2_500_000));
    expect(await send(long), 'a long one').toMatchObject({ ok: true });
    expect(await send('{"t":"nonsense"}')).toMatchObject({ ok: false, message: expect.stringMatching(/Line 1/) });
  });

  test('of a newer version says so', async () => {
    const shown = await inspector();
    const [head = '', ...rest] = (await recorded()).split('\n');
    const newer = [JSON.stringify({ ...JSON.parse(head), format: 99 }), ...rest].join('\n');
    expect(() => shown.open(newer)).toThrow(/format 99.*Update signalbox/);
    const folder = testFolder();
    writeFileSync(join(folder, 'newer.jsonl'), newer);
    await expect(fileJournal(folder).read?.('newer')).rejects.toMatchObject({ code: 'recording-newer', line: 1 });
    await shown.openFolder(folder);
    const isNewer = (frame: Frame): boolean => frame.t === 'session' && frame.session.title === 'newer.jsonl';
    expect((await viewer(shown.url).list(isNewer)).find(isNewer)).toMatchObject({
      session: { agent: 'newer version', reason: 'made by a newer version', problem: matches(/Update signalbox/) },
    });
  });

  test('that this version would play differently shows its records and says what is wrong', async () => {
    const shown = await inspector();
    const changed = (await recorded()).replace(/"digest":"[^"]*"/, '"digest":"other"');
    const id = shown.open(changed);
    const { frames } = viewer(shown.url);
    const seen = await frames(id, isEnd);
    expect(seen.filter(({ t }) => t === 'record').length).toBe(changed.trim().split('\n').length);
    expect(seen.filter(({ t }) => t === 'problem')).toMatchObject([
      { problem: expect.stringMatching(/left the recording/) },
    ]);
  });

  test.each([
    ['a line that is none', '{"t":"outco', /Line 5 .* is not JSON.* It is shown up to there\.$/],
    ['a record without what it needs', '{"t":"outcome","id":"x"}', /Line 5 .*without a usable "at"/],
    ['an effect without a name', '{"t":"start","at":0,"id":"x"}', /Line 5 .*without a usable "name"/],
    ['an outcome of nothing', '{"t":"outcome","at":0,"id":"x","ok":true}', /Line 5 .*without a usable "value"/],
    ['a remark that is none', '{"t":"note","at":0,"id":"x","note":null}', /Line 5 .*without a usable "note"/],
  ])('that is damaged in the middle by %s is shown up to there, and says so', async (_, wrong, problem) => {
    const shown = await inspector();
    const lines = (await recorded('parallel')).trim().split('\n');
    const damaged = [...lines.slice(0, 4), wrong, ...lines.slice(4)];
    for (const recording of [damaged, `${damaged.join('\n')}\n`]) {
      const id = shown.open(recording);
      const { list, frames, get } = viewer(shown.url);
      const session = {
        id,
        status: 'failed',
        reason: 'damaged recording',
        title: startsWithWhere,
        problem: matches(problem),
      };
      expect(await list((frame) => frame.t === 'session' && frame.session.id === id)).toContainEqual(
        expect.objectContaining({ session: expect.objectContaining(session) }),
      );
      const seen = await frames(id, (frame) => frame.t === 'record' && frame.line === 3);
      expect(seen.filter(({ t }) => t === 'problem')).toEqual([]);
      expect(await (await get(`/api/sessions/${id}/recording`)).text()).toBe(`${lines.slice(0, 4).join('\n')}\n`);
    }
  });

  test('of which not even the first line can be read is refused', async () => {
    const shown = await inspector();
    const [head = '', ...rest] = (await recorded()).split('\n');
    expect(() => shown.open(['{"t":"run"', ...rest].join('\n'))).toThrow(/^Line 1 .* is not JSON/);
    expect(() => shown.open([head.replace('"input":', '"output":'), ...rest])).toThrow(/^Line 1 .*usable "input"/);
  });

  test('opened twice is two sessions', async () => {
    const shown = await inspector();
    const recording = await recorded();
    expect(shown.open(recording)).not.toBe(shown.open(recording));
  });
});

describe('a folder of recordings', () => {
  test('is followed: what is there, what comes, and what is still written', async () => {
    const shown = await inspector();
    const folder = testFolder();
    const [first, second] = [await recorded(), await recorded('parallel')];
    const lines = second.trim().split('\n');
    writeFileSync(join(folder, 'first.jsonl'), first);
    writeFileSync(join(folder, 'notes.txt'), 'no recording');
    writeFileSync(join(folder, 'broken.jsonl'), 'no recording either');
    await shown.openFolder(folder);
    const { list, frames } = viewer(shown.url);
    const isSecond = (frame: Frame): boolean => frame.t === 'session' && frame.session.title.startsWith('Where');
    expect((await list(({ t }) => t === 'session')).at(-1)).toMatchObject({ session: { status: 'answered' } });
    writeFileSync(join(folder, 'second.jsonl'), `${lines.slice(0, 5).join('\n')}\n{"t":"outco`);
    const come = (await list(isSecond)).find(isSecond);
    expect(come).toMatchObject({ session: { status: 'interrupted' } });
    const id = come?.t === 'session' ? come.session.id : '';
    const seen = frames(id, isEnd);
    writeFileSync(join(folder, 'second.jsonl'), `${lines.slice(0, 6).join('\n')}\n`);
    appendFileSync(join(folder, 'second.jsonl'), `${lines.slice(6).join('\n')}\n`);
    expect((await seen).filter(({ t }) => t === 'record')).toHaveLength(lines.length);
  });

  test('shows a damaged one up to its damage, under the name of its file, and whole once it is mended', async () => {
    const shown = await inspector();
    const folder = testFolder();
    const lines = (await recorded()).trim().split('\n');
    const path = join(folder, 'cut.jsonl');
    writeFileSync(path, [...lines.slice(0, 3), '{"t":', ...lines.slice(3), ''].join('\n'));
    await shown.openFolder(folder);
    const { list, frames } = viewer(shown.url);
    const isDamaged = (frame: Frame): boolean => frame.t === 'session' && frame.session.problem !== null;
    const damaged = (await list(isDamaged)).find(isDamaged);
    expect(damaged).toMatchObject({
      session: {
        title: 'What time is it?',
        status: 'failed',
        reason: 'damaged recording',
        problem: expect.stringMatching(/^cut\.jsonl: Line 4 /),
      },
    });
    const id = damaged?.t === 'session' ? damaged.session.id : '';
    await frames(id, (frame) => frame.t === 'record' && frame.line === 2);
    writeFileSync(path, `${lines.join('\n')}\n`);
    const isMended = (frame: Frame): boolean => frame.t === 'session' && frame.session.status === 'answered';
    await list(isMended);
    expect((await list(isMended)).filter(isDamaged)).toEqual([]);
  });

  test('does not show a run a second time that is shown itself, until that is dropped', async () => {
    const shown = await inspector({ keep: 1 });
    const folder = testFolder();
    const earlier = await recorded('parallel');
    writeFileSync(join(folder, 'earlier.jsonl'), earlier);
    await shown.openFolder(folder);
    const run = startScene('approval', { inspect: shown, journal: fileJournal(folder) });
    const { list } = viewer(shown.url);
    const isOfRun = (frame: Frame): boolean => frame.t === 'session' && frame.session.title.startsWith('Pay Ann');
    await list(isOfRun);
    const looked = new Date(Date.now() + 2000);
    writeFileSync(join(folder, 'later.jsonl'), earlier.replaceAll('Where is it warmer', 'Later'));
    utimesSync(join(folder, 'later.jsonl'), looked, looked);
    // What is behind it in the folder has been found: the file of the run was looked at.
    const isLater = (frame: Frame): boolean => frame.t === 'session' && frame.session.title.startsWith('Later');
    const seen = await list(isLater);
    expect(seen.filter(isOfRun)).toMatchObject([{ session: { id: run.runId, kind: 'run' } }]);
    await run.approve('c1');
    await run;
    await startScene('plain', { inspect: shown });
    const isRecording = (frame: Frame): boolean =>
      isOfRun(frame) && frame.t === 'session' && frame.session.kind === 'recording';
    expect((await list(isRecording)).find(isRecording)).toMatchObject({
      session: { id: run.runId, status: 'answered' },
    });
  });

  test('gives way to the run when that is resumed and shown itself', async () => {
    const shown = await inspector({ keep: 1 });
    const folder = testFolder();
    const payer = (options: AgentOptions) =>
      createAgent({
        model: scriptedModel([calls(['pay', { euros: 20 }]), 'Paid.']),
        tools: [fakeTool('pay', [null], { policy: 'confirm', inputSchema: { type: 'object' } })],
        confirm: 'wait',
        silent: true,
        ...options,
      });
    const run = payer({}).run('Pay');
    for await (const { type } of run) if (type === 'approval.requested') break;
    writeFileSync(join(folder, `${run.runId}.jsonl`), run.recording());
    await run.cancel();
    await shown.openFolder(folder);
    const { list } = viewer(shown.url);
    const isOf =
      (kind: string) =>
      (frame: Frame): boolean =>
        frame.t === 'session' && frame.session.kind === kind && frame.session.id === run.runId;
    await list(isOf('recording'));
    const resumed = payer({ model: scriptedModel(['Paid.']), inspect: shown, journal: fileJournal(folder) }).resume(
      run.runId,
    );
    await list(isOf('run'));
    await expect.poll(() => resumed.pending.length).toBe(1);
    await resumed.approve('c1');
    await resumed;
    await startScene('plain', { inspect: shown });
    expect((await list(isOf('recording'))).find(isOf('recording'))).toMatchObject({ session: { status: 'answered' } });
  });

  test('are followed beside files that are none: one that cannot be a recording is listed as damaged', async () => {
    const shown = await inspector();
    const folder = testFolder();
    const [head = '', ...rest] = (await recorded()).split('\n');
    const wrong = [JSON.stringify({ ...JSON.parse(head), input: 5, metadata: null }), ...rest].join('\n');
    writeFileSync(join(folder, 'wrong.jsonl'), wrong);
    mkdirSync(join(folder, 'folder.jsonl'));
    symlinkSync('nowhere', join(folder, 'gone.jsonl'));
    if (process.platform !== 'win32') execFileSync('mkfifo', [join(folder, 'pipe.jsonl')]);
    await shown.openFolder(folder);
    writeFileSync(join(folder, 'run.jsonl'), [head, ...rest].join('\n'));
    const both = new Set<unknown>();
    const seen = await viewer(shown.url).list((frame) => {
      if (frame.t === 'session') both.add(frame.session.agent === 'damaged' ? frame.session.title : 'run');
      return both.size === 2;
    });
    expect(both).toEqual(new Set(['run', 'wrong.jsonl']));
    expect(seen).toContainEqual(
      expect.objectContaining({
        session: expect.objectContaining({ problem: expect.stringContaining('without a usable "input"') }),
      }),
    );
  });
});
