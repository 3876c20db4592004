import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { viewer } from './viewer.ts';

test('a process stays while a run of it waits for a click in the page, and ends when the run is over', async () => {
  const script = join(import.meta.dirname, 'children/wait-for-click.ts');
  const child = spawn(process.execPath, [...BUNDLED, script], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [ended, address, call] = [once(child, 'exit'), once(child.stderr, 'data'), once(child.stdout, 'data')];
  const [, url = ''] = /Inspector: (\S+)/.exec(String((await address)[0])) ?? [];
  const callId = String((await call)[0]).trim();
  expect(await viewer(url).act('pay', { kind: 'approve', callId })).toEqual({ ok: true });
  expect(String((await once(child.stdout, 'data'))[0])).toBe('Paid.\n');
  expect(await ended).toEqual([0, null]);
});

test('a process that ends before anybody has opened its inspector says how to keep it; a silent one says nothing', async () => {
  const script = join(import.meta.dirname, 'children/short-script.ts');
  const said = async (...args: readonly string[]): Promise<string> => {
    const child = spawn(process.execPath, [...BUNDLED, script, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    const [text, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'exit')]);
    expect(code).toBe(0);
    return text.join('');
  };

  expect(await said()).toContain('keepAlive: true');
  expect(await said('silent')).toBe('');
});
