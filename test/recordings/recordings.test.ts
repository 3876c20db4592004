import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { Agent } from '../../src/agent/agent-types.ts';
import { FORMAT } from '../../src/journal/format/record.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { transitions } from '../../src/journal/replay/replay.ts';
import { normalizedRecording } from '../../src/testing/recordings/runs-on-recordings.ts';
import { useRecording } from '../../src/testing/recordings/use-recording.ts';
import '../../src/testing/vitest.ts';
import * as agents from './agents.ts';

// `npm run recordings` runs these tests on their scripted models, real tools and a real server, and writes the files anew.
beforeEach(() => vi.stubEnv('SIGNALBOX_RECORD', process.env['SIGNALBOX_RECORD'] ?? 'never'));
afterEach(() => vi.unstubAllEnvs());

function ask(name: string, agent: Agent, question: string) {
  onTestFinished(() => agent.close());
  return useRecording(fileURLToPath(new URL(`${name}.jsonl`, import.meta.url))).run(agent, question);
}

test('a plain answer', async () => {
  const run = ask('plain-answer', agents.plainAnswer(), 'What is the capital of France?');
  await expect(run).toEndWith('answer', 'Paris');
  await expect(run).toMatchTransitions(['model.replied: PLANNING → COMPLETION']);
});

test('a plan', async () => {
  const run = ask('plan', agents.planner(), 'Thank Ada Lovelace for her orders.');
  await expect(run).toEndWith('answer', '111.50');
  await expect(run).toHaveVisited('EXECUTING_PLAN', 'PLANNING', 'COMPLETION');
  await expect(run).toHaveCalledTool('send_mail', { to: 'Ada Lovelace', euros: 111.5 });
});

test('broken JSON', async () => {
  const run = ask('broken-json', agents.brokenJson(), 'How warm is it in Oslo and Austin?');
  await expect(run).toEndWith('answer', '31 °C in Austin');
  await expect(run).toHaveCalledTool('get_forecast', { city: 'Oslo', days: 2 }, { times: 1 });
  await expect(run).toHaveCalledTool('get_forecast', { city: 'Austin' }, { times: 1 });
});

test("a tool's error, and another way", async () => {
  const run = ask('tool-error', agents.recovering(), 'How cold is it in Oslo?');
  await expect(run).toHaveVisited('ERROR_RECOVERY', 'PLANNING', 'COMPLETION');
  await expect(run).toEndWith('answer', '4 °C');
  expect((await run).errorHistory).toMatchObject([{ code: 'execution', tool: 'satellite' }]);
});

test('an escalation of a child', async () => {
  const run = ask('escalation', agents.escalating(), 'How warm was it in 1950?');
  await expect(run).toHaveVisited('ESCALATED');
  await expect(run).toEndWith('tool-error', 'Nothing before 1990: the archive is locked.');
});

test('a loop', async () => {
  const run = ask('loop', agents.looping(), 'How cold is it in Oslo?');
  await expect(run).toEndWith('loop');
  await expect(run).toHaveCalledTool('get_forecast', { city: 'Oslo' }, { times: 3 });
});

test('a crash of an MCP server', async () => {
  const run = ask('mcp-crash', agents.onCrashingServer(), 'Move all money to the savings account.');
  await expect(run).toHaveCalledTool('ledger_transfer', {}, { times: 1 });
  await expect(run).toHaveVisited('ERROR_RECOVERY', 'DIRECT_EXECUTION', 'COMPLETION');
  await expect(run).toEndWith('answer', 'did not take place');
});

test('approvals', async () => {
  const run = ask('approval', agents.asking(), 'Pay the bills.');
  for await (const event of run)
    if (event.type === 'approval.requested')
      await (event.callId === 'c1' ? run.approve('c1') : run.reject(event.callId, 'too much'));
  await expect(run).toHaveVisited('AWAITING_APPROVAL', 'DENIED');
  await expect(run).toHaveCalledTool('pay', { to: 'printer' });
  await expect(run).not.toHaveCalledTool('pay', { to: 'casino' });
});

test('a cancel', async () => {
  const run = ask('cancel', agents.waiting(), 'Wait for the train.');
  for await (const event of run) if (event.type === 'tool.started') await run.cancel('it is late');
  await expect(run).toEndWith('cancelled');
  expect((await run).error).toMatchObject({ code: 'cancelled', message: 'it is late' });
});

test('the step limit', async () => {
  const run = ask('step-limit', agents.restless(), 'Where is it warm?');
  await expect(run).toEndWith('max-steps', '(3 steps)');
  await expect(run).toHaveCalledTool('get_forecast', undefined, { times: 3 });
});

const files = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.jsonl'));

test('there are ten', () => expect(files).toHaveLength(10));

test.each(files)('%s is of this format, stable, of no machine in particular, and plays without its agent', (file) => {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  expect(readRecording(text).head.format).toBe(FORMAT);
  expect(normalizedRecording(text, file)).toBe(text);
  expect(text).not.toContain(process.cwd());
  expect(text).not.toMatch(/\/(?:home|tmp|Users)\b/);
  expect(transitions(text).at(-1)?.to).toBe('COMPLETION');
});
