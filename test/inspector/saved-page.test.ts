import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { SavedPage, StepDetail } from '../../src/inspector/frames/protocol.ts';
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

describe('a saved page', () => {
  test('holds all frames, and the details of every step', async () => {
    const { data } = await saved('plain');
    const steps = data.frames.flatMap((frame) => (frame.t === 'step' ? [frame.step] : []));
    const details = unshare(data.details) as unknown as readonly StepDetail[];
    expect(data.frames[0]).toMatchObject({ t: 'hello', live: false });
    expect(data.frames[1]).toMatchObject({ t: 'session', session: { kind: 'recording', status: 'answered', can: [] } });
    expect(details.map(({ step }) => step)).toEqual(steps);
    expect(details.at(-1)?.after).toMatchObject({ task: 'What time is it?' });
  });

  test('is the same where the page lies compressed, as in the package', async () => {
    const page = pageFolder();
    const script = join(page, 'saved.js');
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
    const scripts = [html, html2].map((text) => /<script>([^]*?)<\/script>/.exec(text)?.[1]);
    expect(scripts[0]).toContain('console.log(tag)');
    expect(scripts[1]).toBe(scripts[0]);
    expect((await viewer(packed.url).get('/saved.js')).status).toBe(200);
    expect((await viewer(packed.url).get('/saved.js.br')).status).toBe(404);
  });

  test('holds two sessions when they were compared, the second with its own details', async () => {
    const shown = await inspector();
    const [one, other] = [startScene('plain', { inspect: shown }), startScene('parallel', { inspect: shown })];
    await Promise.all([one, other]);
    const exported = async (query: string): Promise<SavedPage> => {
      const html = await (await viewer(shown.url).get(`/api/sessions/${one.runId}/export${query}`)).text();
      return JSON.parse(/id="signalbox-saved">([^<]*)</.exec(html)?.[1] ?? '') as SavedPage;
    };
    const both = await exported(`?beside=${other.runId}`);
    const sessions = both.frames.flatMap((frame) => (frame.t === 'session' ? [frame.session.id] : []));
    const details = both.beside === null ? [] : (unshare(both.beside.details) as unknown as readonly StepDetail[]);

    expect(sessions).toEqual([one.runId, other.runId]);
    expect(both.beside?.session).toBe(other.runId);
    expect(details.at(-1)?.after).toMatchObject({ task: 'Where is it warmer, in Austin or in Oslo?' });
    expect((await exported('')).beside).toBeNull();
    expect((await exported('?beside=nobody')).beside).toBeNull();
    expect((await exported(`?beside=${one.runId}`)).beside).toBeNull();
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
    expect(JSON.stringify(data.frames)).toContain(JSON.stringify(HOSTILE).slice(1, -1));
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
