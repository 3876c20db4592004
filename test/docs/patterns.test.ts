import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import { blocks, document, root } from './documents.ts';

/** Answers as the patterns need it, by what it is asked. */
const MAIN = `
const said = ({ messages }) => messages.filter(({ role }) => role === 'user').map(({ content }) => content);
const seen = [];
const reply = (request) => {
  const { messages, tools = [] } = request;
  const [prompt, asked, all] = [String(messages[0].content), String(said(request).at(-1)), JSON.stringify(messages)];
  const results = messages.filter(({ role }) => role === 'tool');
  if (prompt.includes('customers') || prompt.includes('refunds')) return prompt.split('.')[0] + ': ' + asked;
  if (asked.startsWith('What is this about')) return { kind: asked.includes('money') ? 'refund' : 'general' };
  if (asked.startsWith('Sum up: ')) return asked.includes('broken') ? new Error('broken') : asked.slice(8);
  if (asked.startsWith('Write one text')) return asked;
  if (prompt.includes('hand over')) return { handTo: 'seats' };
  if (prompt.includes('change seats')) return { say: 'Seats heard: ' + said(request).join(' | ') };
  if (asked.startsWith('In ')) return '<' + asked + '>';
  if (prompt.includes('homework')) return { isHomework: asked.includes('2x') };
  if (prompt.includes('grade')) return { passed: asked === 'better', feedback: 'Be better.' };
  if (said(request)[0] === 'Write') return { text: all.includes('Be better.') ? 'better' : 'good' };
  if (tools.some(({ name }) => name === 'buy')) return results.length > 0 ? results.map(({ content }) => content).join() : [['buy', { euros: 5 }], ['buy', { euros: 50 }]];
  if (tools.some(({ name }) => name === 'ask_user')) return results.length > 0 ? 'Hello, ' + JSON.parse(results[0].content).data : [['ask_user', { question: 'Who are you?' }]];
  if (tools.some(({ name }) => name === 'translate')) return results.length > 0 ? results.map(({ content }) => JSON.parse(content).data).join() : [['translate', { text: 'a', target: 'French' }], ['translate', { text: 'b', target: 'Dutch' }]];
  if (prompt.includes('friend')) return asked.startsWith('I am') && results.length === 0 ? [['remember', { fact: asked }]] : prompt;
  return all.includes('Do not tell') ? 'Ask at the desk.' : asked.includes('phone') ? '650-123-4567' : 'It is open.';
};
globalThis.model = {
  id: 'patterns',
  complete: async (request) => {
    const given = reply(request);
    if (given instanceof Error) throw given;
    if (Array.isArray(given)) return { content: '', toolCalls: given.map(([name, args], index) => ({ id: 'n' + index, name, arguments: JSON.stringify(args) })) };
    return { content: typeof given === 'string' && !JSON.stringify(request.messages[0]).includes('JSON') ? given : JSON.stringify(given) };
  },
};
const load = async (name) => import('./' + name + '.ts');
const [workflows, handoffs, tools, guardrails, evaluators, approvals, questions, memory] = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(load));
const asked = await questions.begun('Greet me');
const [call] = asked.pending;
const { createAgent } = await import('signalbox');
const out = {
  routed: [await workflows.answered('Where is my money?'), await workflows.answered('Hello')],
  reduced: await workflows.summarized(['one', 'broken', 'two'], new AbortController().signal),
  handed: [await handoffs.say('ada', 'Another seat, please'), await handoffs.say('ada', '12A')],
  asTool: await createAgent({ model: globalThis.model, tools: [tools.translate] }).run('Translate').orThrow(),
  guarded: [await guardrails.helped('ada', 'Is it open?'), await guardrails.helped('ada', 'Solve 2x = 4'), await guardrails.helped('bob', 'Your phone?')],
  evaluated: await evaluators.author.run('Write').orThrow(),
  approved: await createAgent({ model: globalThis.model, tools: [approvals.buy], confirm: () => 'deny' }).run('Buy').orThrow(),
  asked: [call.args.question, (await questions.told(asked.runId, call.callId, 'Ada')).result],
  remembered: [await memory.friend.conversation('ada').run('I am Ada', { context: { user: 'ada' } }).orThrow(), await memory.friend.conversation('ada').run('Who?', { context: { user: 'ada' } }).orThrow()],
};
console.log(JSON.stringify(out));
`;

test('the patterns of docs/patterns.md do what is said of them', () => {
  const folder = mkdtempSync(`${root}test/docs/.patterns-`);
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const code = blocks(document('docs/patterns.md')).filter(({ info }) => info === 'ts');
  code.forEach((block, index) => writeFileSync(join(folder, `${index}.ts`), block.code));
  writeFileSync(join(folder, 'main.ts'), MAIN);
  const { stdout, stderr } = spawnSync(process.execPath, [...BUNDLED, '--conditions=@signalbox/source', 'main.ts'], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual({
    routed: ['You are in charge of refunds: Where is my money?', 'You answer customers: Hello'],
    reduced: 'Write one text of: one\ntwo',
    // Who takes over hears the customer once.
    handed: ['Seats heard: Another seat, please', 'Seats heard: Another seat, please | 12A'],
    asTool: '<In French: a>,<In Dutch: b>',
    guarded: ['It is open.', 'I cannot help you with that.', 'Ask at the desk.'],
    evaluated: { text: 'better' },
    approved: expect.stringMatching(/bought for 5\D.*denied/),
    asked: ['Who are you?', 'Hello, Ada'],
    remembered: ['You are a friend. You know: I am Ada', 'You are a friend. You know: I am Ada'],
  });
});
