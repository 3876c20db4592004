import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fileAgent, troubledDisk } from '../../examples/15-file-agent.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import type { JsonObject } from '../../src/json/json.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { calls } from '../support/replies.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'file-agent-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The whole agent, whose model makes one call and then answers. */
async function oneCall(
  name: string,
  args: JsonObject | string,
  more: { readonly codes?: readonly string[]; readonly clerk?: readonly ScriptedReply[] } = {},
) {
  const model = scriptedModel([calls([name, args, 'a']), 'Done.']);
  const clerk = scriptedModel(more.clerk ?? []);
  const run = fileAgent({ folder, model, clerk, disk: troubledDisk(more.codes ?? []) }).run('Look after my files.');
  const steps: string[] = [];
  const events: RunEvent[] = [];
  for await (const event of run) {
    events.push(event);
    if (event.type === 'recovery.step') steps.push(event.step);
  }
  const result = await run;
  const told = String(result.messages.find(({ role }) => role === 'tool')?.content);
  return { result, steps, events, told, clerk };
}

const contents = (name: string) => readFileSync(join(folder, name), 'utf8');

describe('the file agent', () => {
  test('does what is asked without any recovery when nothing is wrong', async () => {
    const { result, steps, clerk } = await oneCall('write_file', { path: 'a.md', text: 'Hi' });
    expect(result).toMatchObject({ status: 'answered', errorHistory: [], toolsUsed: ['write_file'] });
    expect([steps, clerk.requests]).toEqual([[], []]);
    expect(contents('a.md')).toBe('Hi');
  });

  test('cleans arguments by code first, and asks no model then', async () => {
    const { result, steps, clerk } = await oneCall('write_file', 'path: a.md, text: Buy tea.');
    expect([steps, clerk.requests]).toEqual([['fix'], []]);
    expect(contents('a.md')).toBe('Buy tea.');
    expect(result.errorHistory).toEqual([]);
  });

  test('asks the repair agent where code cannot help, with all that it needs', async () => {
    const { steps, clerk } = await oneCall('write_file', 'put milk on my list', {
      clerk: ['{"path": "list.md", "text": "milk"}'],
    });
    expect(steps).toEqual(['fix', 'fix-agent']);
    expect(contents('list.md')).toBe('milk');
    const asked = JSON.stringify(clerk.requests[0]?.messages);
    for (const part of ['write_file', 'Writes a file.', 'put milk on my list', 'required', 'You correct the arguments'])
      expect(asked).toContain(part);
  });

  test('asks the repair agent twice at most for arguments that do not fit, and checks what it says', async () => {
    const { result, steps, clerk } = await oneCall(
      'write_file',
      { path: '../a.md', text: 'Hi' },
      {
        clerk: ['{"path": "../outside.md", "text": "Hi"}', '{"path": "list.md"}'],
      },
    );
    expect(steps).toEqual(['sanitize', 'fix-agent', 'fix-agent']);
    expect(clerk.requests).toHaveLength(2);
    expect(JSON.stringify(clerk.requests[1])).toContain('outside.md is not inside the folder');
    expect(result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'deserialization' }], toolsUsed: [] });
  });

  test('lets the repair agent hand the matter up, or end the run', async () => {
    const escalate = calls(['escalate', { reason: 'nobody knows which file', severity: 'medium' }]);
    expect((await oneCall('write_file', 'hm', { clerk: [escalate] })).result).toMatchObject({
      status: 'answered',
      errorHistory: [{ code: 'escalation', message: expect.stringContaining('nobody knows which file') }],
    });
    const stop = calls(['throwException', { reason: 'this would erase the disk' }]);
    expect((await oneCall('write_file', 'hm', { clerk: [stop] })).result).toMatchObject({
      status: 'failed',
      reason: 'thrown',
      error: { message: 'this would erase the disk' },
    });
  });

  test.each(['/a.md', '\\a.md', 'C:/../a.md'])('sanitises the path %s', async (path) => {
    writeFileSync(join(folder, 'a.md'), 'Hi');
    const { told, result } = await oneCall('read_file', { path });
    expect(JSON.parse(told)).toEqual({ status: 'success', data: 'Hi' });
    expect(result.errorHistory).toEqual([]);
  });

  test('never leaves its folder, whatever sanitising and the repair agent come up with', async () => {
    const { result, told } = await oneCall(
      'read_file',
      { path: '/../../etc/passwd' },
      {
        clerk: ['{"path": "/etc/passwd"}', '{"path": "/etc/passwd"}', '{"path": "/etc/passwd"}'],
      },
    );
    expect(result.toolsUsed).toEqual([]);
    expect(told).toContain('is not inside the folder');
  });

  test('does not sanitise the path of a file that is to be deleted', async () => {
    writeFileSync(join(folder, 'a.md'), 'Hi');
    const { result, steps } = await oneCall('delete_file', { path: '/a.md' });
    expect(steps).toEqual([]);
    expect(result).toMatchObject({ toolsUsed: [], errorHistory: [{ code: 'deserialization' }] });
    expect(contents('a.md')).toBe('Hi');
  });

  test('tries a busy disk again, three times in all', async () => {
    expect((await oneCall('write_file', { path: 'a.md', text: 'Hi' }, { codes: ['EBUSY', 'EBUSY'] })).steps).toEqual([
      'retry',
      'retry',
    ]);
    expect(contents('a.md')).toBe('Hi');
    const busy = await oneCall('write_file', { path: 'b.md', text: 'Hi' }, { codes: ['EBUSY', 'EBUSY', 'EBUSY'] });
    expect(busy.result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'execution' }] });
  });

  test('stands in for a file that does not exist', async () => {
    const { told, steps } = await oneCall('read_file', { path: 'nothing.md' });
    expect(steps).toEqual(['substitute']);
    expect(JSON.parse(told)).toEqual({ status: 'partial', message: 'There is no such file yet.' });
  });

  test('hands up what it may not delete', async () => {
    writeFileSync(join(folder, 'a.md'), 'Hi');
    const { result, events } = await oneCall('delete_file', { path: 'a.md' }, { codes: ['EPERM'] });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'escalation.raised', source: 'delete_file', severity: 'high' }),
    );
    expect(result).toMatchObject({ status: 'answered', errorHistory: [{ code: 'escalation', tool: 'delete_file' }] });
  });

  test('ends the run when the disk is full, without a further try or request', async () => {
    const { result, steps } = await oneCall('write_file', { path: 'a.md', text: 'Hi' }, { codes: ['ENOSPC'] });
    expect(steps).toEqual([]);
    expect(result).toMatchObject({
      status: 'failed',
      reason: 'thrown',
      stepsTaken: 1,
      error: { code: 'thrown', message: 'the disk is full', tool: 'write_file' },
    });
  });
});
