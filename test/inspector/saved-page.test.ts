import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { assign, createActor, createMachine } from 'xstate';
import type { Frame, SavedPage, SavedSession, StepDetail } from '../../src/inspector/frames/protocol.ts';
import { JournalPlayer } from '../../src/inspector/page/player/journal-player.ts';
import { share, unshare } from '../../src/inspector/frames/shared-json.ts';
import { pageFolder } from './page-folder.ts';
import { HOSTILE, startScene } from './scenes.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

async function saved(scene: 'plain' | 'hostile'): Promise<{ readonly html: string; readonly data: SavedPage }> {
  const shown = await inspector();
  const run = startScene(scene, { inspect: shown });
  await run;
  const html = await (await viewer(shown.url).get(`/api/sessions/${run.runId}/export`)).text();
  const [, json = ''] = /<script type="application\/json" id="signalbox-saved">([^<]*)<\/script>/.exec(html) ?? [];
  return { html, data: JSON.parse(json) as SavedPage };
}

/** A saved recording as the page plays it. */
function played(session: SavedSession | undefined) {
  const frames: Frame[] = [];
  const player = new JournalPlayer('', (frame) => void frames.push(frame));
  const lines = session !== undefined && 'lines' in session ? session.lines : '';
  for (const line of lines.trim().split('\n')) player.take(line);
  return { frames, player };
}

describe('a saved page', () => {
  test('holds the recording of a run, which gives all frames and the details of every step', async () => {
    const { data } = await saved('plain');
    const [session] = data.sessions;
    expect(session?.info).toMatchObject({ kind: 'recording', status: 'answered', can: [] });
    const { frames, player } = played(session);
    const steps = frames.flatMap((frame) => (frame.t === 'step' ? [frame.step] : []));
    expect(steps.length).toBeGreaterThan(5);
    expect(steps.map(({ n }) => player.detail(n)?.step)).toEqual(steps);
    expect(player.detail(steps.length)?.after).toMatchObject({ task: 'What time is it?' });
  });

  test('holds the frames of a machine that is not recorded, and the details of every step', async () => {
    const shown = await inspector();
    const lights = createMachine({
      id: 'lights',
      initial: 'RED',
      states: { RED: { on: { next: 'GREEN' } }, GREEN: {} },
    });
    createActor(lights, { inspect: shown.inspect }).start().send({ type: 'next' });
    const html = await (await viewer(shown.url).get('/api/sessions/system-1/export')).text();
    const [session] = (JSON.parse(/id="signalbox-saved">([^<]*)</.exec(html)?.[1] ?? '') as SavedPage).sessions;
    if (session === undefined || !('frames' in session)) throw new Error('It has no frames.');
    const steps = session.frames.flatMap((frame) => (frame.t === 'step' ? [frame.step] : []));
    const details = unshare(session.details) as unknown as readonly StepDetail[];
    expect(details.map(({ step }) => step)).toEqual(steps);
    expect(steps.at(-1)).toMatchObject({ to: ['GREEN'] });
  });

  test('holds what a machine keeps in its context once, however many steps it took', async () => {
    const shown = await inspector();
    const counting = createMachine({
      id: 'counting',
      context: { count: 0, kept: Array.from({ length: 100 }, (_, n) => `${n} ${'x'.repeat(100)}`) },
      on: { next: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
    });
    const actor = createActor(counting, { inspect: shown.inspect }).start();
    for (let n = 0; n < 50; n++) actor.send({ type: 'next' });
    const html = await (await viewer(shown.url).get('/api/sessions/system-1/export')).text();
    const data = /id="signalbox-saved">([^<]*)</.exec(html)?.[1] ?? '';
    const [session] = (JSON.parse(data) as SavedPage).sessions;
    const details = session !== undefined && 'frames' in session ? unshare(session.details) : null;
    expect(details).toMatchObject({ length: 51, 50: { before: { count: 49 }, after: { count: 50 } } });
    expect(data.split('99 xxx')).toHaveLength(2);
  });

  test('is the same where the page lies compressed, as in the package', async () => {
    const page = pageFolder();
    const script = join(page, 'assets/main.js');
    const plain = await inspector({ page });
    const run = startScene('plain', { inspect: plain });
    await run;
    const html = await (await viewer(plain.url).get(`/api/sessions/${run.runId}/export`)).text();
    writeFileSync(`${script}.br`, brotliCompressSync(readFileSync(script)));
    rmSync(script);
    const packed = await inspector({ page });
    const again = startScene('plain', { inspect: packed });
    await again;
    const html2 = await (await viewer(packed.url).get(`/api/sessions/${again.runId}/export`)).text();
    const scripts = [html, html2].map((text) => /<script type="module">([^]*?)<\/script>/.exec(text)?.[1]);
    expect(scripts[0]).toContain('console.log(tag)');
    expect(scripts[1]).toBe(scripts[0]);
    expect((await viewer(packed.url).get('/assets/main.js')).status).toBe(200);
    expect((await viewer(packed.url).get('/assets/main.js.br')).status).toBe(404);
  });

  test('carries the layouts that the page would fetch, by their names', async () => {
    const page = pageFolder();
    writeFileSync(join(page, 'assets/layouts.json'), '{"5f":"lights"}');
    writeFileSync(join(page, 'assets/layouts-lights.json'), '{"5f RIGHT":{"states":[]}}');
    const shown = await inspector({ page });
    const run = startScene('plain', { inspect: shown });
    await run;
    const html = await (await viewer(shown.url).get(`/api/sessions/${run.runId}/export`)).text();
    const [, carried = ''] = /globalThis\.signalboxLayouts=(.*)\n/.exec(html) ?? [];
    expect(JSON.parse(carried)).toEqual({
      layouts: { '5f': 'lights' },
      'layouts-lights': { '5f RIGHT': { states: [] } },
    });
  });

  test('holds two sessions when they were compared, the second with its own recording', async () => {
    const shown = await inspector();
    const [one, other] = [startScene('plain', { inspect: shown }), startScene('parallel', { inspect: shown })];
    await Promise.all([one, other]);
    const exported = async (query: string): Promise<SavedPage> => {
      const html = await (await viewer(shown.url).get(`/api/sessions/${one.runId}/export${query}`)).text();
      return JSON.parse(/id="signalbox-saved">([^<]*)</.exec(html)?.[1] ?? '') as SavedPage;
    };
    const both = await exported(`?beside=${other.runId}`);
    expect(both.sessions.map(({ info }) => info.id)).toEqual([one.runId, other.runId]);
    expect(played(both.sessions[1]).frames.find(({ t }) => t === 'record')).toMatchObject({
      record: { input: 'Where is it warmer, in Austin or in Oslo?' },
    });
    expect((await exported('')).sessions).toHaveLength(1);
    expect((await exported('?beside=nobody')).sessions).toHaveLength(1);
    expect((await exported(`?beside=${one.runId}`)).sessions).toHaveLength(1);
  });

  test('lets nothing run but its own script, and loads nothing', async () => {
    const { html } = await saved('plain');
    const [, policy = ''] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html) ?? [];
    const scripts = [...html.matchAll(/<script(?![^>]*json)[^>]*>([^]*?)<\/script>/g)].map(([, text = '']) => text);
    expect(scripts).toHaveLength(1);
    expect(policy).toContain(
      `script-src 'sha256-${createHash('sha256')
        .update(scripts[0] ?? '')
        .digest('base64')}'`,
    );
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|self|https?:/);
    expect(html).not.toMatch(/<(?:script|link|img|iframe)[^>]*(?:src|href)=/);
    // The script says </script> in a text, which must not end it.
    expect(scripts[0]).toContain('console.log(tag)');
  });

  test('shows hostile content as it was, and is not changed by it', async () => {
    const { html, data } = await saved('hostile');
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html.match(/<\/script>/g)).toHaveLength(2);
    expect(html).not.toContain('<img');
    expect(html).not.toContain('onerror="document');
    expect(JSON.stringify(played(data.sessions[0]).frames)).toContain(JSON.stringify(HOSTILE).slice(1, -1));
  });
});

describe('JSON that is shared', () => {
  const common = { a: [1, 2, { deep: 'x'.repeat(50) }] };
  test.each([
    [null],
    [[common, common, { again: common }]],
    [{ $: 3 }],
    [{ $: { $: { $: 1 } } }],
    [[{ $: common }, { $: common }]],
    [JSON.parse('{"__proto__": {"x": 1}, "constructor": 1}')],
    [[[], {}, '', 0, false]],
  ])('comes back as it was: %j', (value) => {
    expect(unshare(share(value))).toEqual(value);
  });

  test('is written once', () => {
    const many = Array.from({ length: 100 }, (_, n) => ({ n, common }));
    expect(JSON.stringify(share(many)).length).toBeLessThan(JSON.stringify(many).length / 3);
  });
});
