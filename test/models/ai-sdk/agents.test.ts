import { describe, expect, test } from 'vitest';
import { replay } from '../../../src/journal/replay/replay.ts';
import { tool } from '../../../src/tools/tool.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { eventsOf } from '../../agent/agent-on-server.ts';
import { ENCRYPTED, compatible, openaiChat, openaiResponses } from './openai-wires.ts';
import { SIGNATURE, anthropic, google } from './other-wires.ts';
import { type Said, type Wire, agentOver, ofType, valuesOf } from './wire-server.ts';

const WIRES: readonly Wire[] = [compatible, openaiChat, openaiResponses, anthropic, google];
const WAYS = WIRES.flatMap((wire) => [
  { wire, streaming: true, name: `${wire.name}, streamed` },
  { wire, streaming: false, name: `${wire.name}, whole` },
]);

const twoCalls: Said = {
  thinking: 'I need both.',
  text: 'Let me look.',
  calls: [
    { id: 'call_a', name: 'look', args: { at: 'door' } },
    { id: 'call_b', name: 'listen', args: { to: 'wind' } },
  ],
};
const look = () => fakeTool('look', [{ seen: 'a cat' }, { seen: 'a dog' }]);
const listen = () => fakeTool('listen', [{ heard: 'rain' }]);

describe.each(WAYS)('an agent over $name', ({ wire, streaming }) => {
  test('calls tools, hands their results back, and answers', async () => {
    const { agent, server } = await agentOver(wire, [twoCalls, { text: 'A cat, and rain.' }], {
      tools: [look(), listen()],
      streaming,
      instructions: 'Be brief.',
    });
    const run = agent.run('What is there?');
    const events = await eventsOf(run);
    expect(await run).toMatchObject({
      status: 'answered',
      result: 'A cat, and rain.',
      toolsUsed: ['look', 'listen'],
      stepsTaken: 2,
    });
    expect(server.requests).toHaveLength(2);
    const [first, second] = server.requests;
    expect(first?.text).toContain('Be brief.');
    expect(wire.resultsIn(first?.body)).toEqual([]);
    const results = wire.resultsIn(second?.body);
    expect(results).toHaveLength(2);
    expect(results[0]).toContain('a cat');
    expect(results[1]).toContain('rain');
    // The arguments of the calls are in the history that the model reads.
    expect(second?.text).toMatch(/door/);
    expect(events.filter(({ type }) => type === 'tool.started')).toHaveLength(2);
    // It was told the tools, and the provider did not run them.
    expect(first?.text).toContain('listen');
  });

  test('offers tools that are gone only to a model that takes no call without its tool', async () => {
    const said = [twoCalls, { text: 'A cat, and rain.' }, { text: 'Yes.' }];
    const { agent, server } = await agentOver(wire, said, { tools: [look(), listen()], streaming });
    await agent.run('What is there?');
    for (const name of ['look', 'listen']) agent.tools.remove(name);
    expect(await agent.run('Sure?')).toMatchObject({ status: 'answered', result: 'Yes.' });
    const declared = valuesOf(server.requests[2]?.body, 'description');
    expect(declared).toEqual(wire === anthropic ? ['Not available any more.', 'Not available any more.'] : []);
  });

  test('half a character, as cutting leaves it, is sent as a whole one', async () => {
    const heard = tool({ name: 'listen', description: 'Half: \ud83d', execute: () => 'rain' });
    const tools = [fakeTool('look', ['😀'.repeat(99)]), heard];
    const { agent, server } = await agentOver(wire, [twoCalls, { text: 'Done.' }], {
      tools,
      streaming,
      instructions: 'Half: \ud83d',
      maxToolResultChars: 50,
    });
    await agent.run([{ type: 'text', text: 'Half: \ude00' }]).orThrow();
    for (const { text } of server.requests) expect(text).not.toMatch(/\\ud[89a-f]/i);
    expect(server.requests[1]?.text).toMatch(/\ufffd/);
  });

  test('white space before a call, which another model has written, is no text: some refuse it', async () => {
    const history = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: '\n \n', toolCalls: [{ id: 'a', name: 'look', arguments: '{"at":"door"}' }] },
      { role: 'tool', toolCallId: 'a', name: 'look', content: 'seen' },
      { role: 'assistant', content: 'A cat.' },
    ] as const;
    const { agent, server } = await agentOver(wire, [{ text: 'Done.' }], { tools: [look()], streaming, history });
    await agent.run('Again.').orThrow();
    expect(server.requests[0]?.text).toContain('door');
    expect(server.requests[0]?.text).not.toContain(String.raw`\n \n`);
  });

  test('a tool that is not described has its name for a description', async () => {
    const tools = [fakeTool('peek', ['x'], { description: '' })];
    const { agent, server } = await agentOver(wire, [{ text: 'Done.' }], { tools, streaming });
    await agent.run('Look.').orThrow();
    expect(server.requests[0]?.text).toMatch(/"description":\s*"peek"/);
  });

  test('tokens are counted, those from the cache and of reasoning apart, by model', async () => {
    const { agent } = await agentOver(wire, [twoCalls, { text: 'Done.' }], { tools: [look(), listen()], streaming });
    const { usage } = await agent.run('Look.');
    const { cached, reasoning } = wire.tokens;
    const counted = {
      inputTokens: 60,
      outputTokens: 18,
      totalTokens: 78,
      cachedInputTokens: 2 * cached,
      ...(reasoning === undefined ? {} : { reasoningTokens: 2 * reasoning }),
    };
    expect(usage).toEqual({ ...counted, byModel: { [wire.id]: counted } });
  });

  test('a recording replays without the server, and to the same end', async () => {
    const { agent, server } = await agentOver(wire, [twoCalls, { text: 'Done.' }], {
      tools: [look(), listen()],
      streaming,
    });
    const run = agent.run('Look.');
    const live = await run;
    const again = await replay(run.recording(), agent);
    const { durationMs: _live, ...told } = live;
    const { durationMs: _again, ...repeated } = again;
    expect(repeated).toEqual(told);
    expect(server.requests).toHaveLength(2);
  });

  test('text that looks like a call is an answer once the model has called natively', async () => {
    const quoted = '{"tool": "listen", "tool_args": {"to": "wind"}}';
    const { agent, server } = await agentOver(
      wire,
      [{ text: 'I look.', calls: [{ id: 'a', name: 'look', args: {} }] }, { text: quoted }],
      { tools: [look(), listen()], streaming },
    );
    expect(await agent.run('Go.')).toMatchObject({ status: 'answered', result: quoted, toolsUsed: ['look'] });
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    ['length', 'length', 'stopped'],
    ['refusal', wire === google ? 'content-filter' : 'refused', 'failed'],
    ['filter', wire === anthropic ? 'refused' : 'content-filter', 'failed'],
  ] as const)('a reply that ended with %s ends the run as %s', async (end, reason, status) => {
    const { agent, server } = await agentOver(wire, [{ text: 'I will not', end }], { streaming });
    expect(await agent.run('Go.')).toMatchObject({ status, reason, result: 'I will not' });
    expect(server.requests).toHaveLength(1);
  });

  test('images of results reach a model that takes them', async () => {
    const data = 'iVBORw0KGgo=';
    const photo = fakeTool('photo', [[{ type: 'image', data, mimeType: 'image/png' }]]);
    const call = { calls: [{ id: 'p', name: 'photo', args: {} }] };
    const seeing = await agentOver(wire, [call, { text: 'A cat.' }], {
      tools: [photo],
      streaming,
      sdk: { images: true },
    });
    expect(await seeing.agent.run('Look.')).toMatchObject({ status: 'answered' });
    expect(wire.imagesIn(seeing.server.requests[1]?.body)).toEqual([data]);
    const blind = await agentOver(wire, [call, { text: 'No idea.' }], {
      tools: [fakeTool('photo', [[{ type: 'image', data, mimeType: 'image/png' }]])],
      streaming,
    });
    expect(await blind.agent.run('Look.')).toMatchObject({ status: 'answered' });
    expect(wire.imagesIn(blind.server.requests[1]?.body)).toEqual([]);
    expect(blind.server.requests[1]?.text).not.toContain(data);
  });

  test('a file of the input reaches a model that takes them, with its name where the protocol has one', async () => {
    const data = 'JVBERi0xLjQK';
    const { agent, server } = await agentOver(wire, [{ text: 'A bill.' }], { streaming, sdk: { files: true } });
    const bill = { type: 'file', data, mediaType: 'application/pdf', filename: 'bill.pdf' } as const;
    expect(await agent.run([{ type: 'text', text: 'What is this?' }, bill])).toMatchObject({ status: 'answered' });
    expect(server.requests[0]?.text).toContain(data);
    expect(server.requests[0]?.text).toContain('application/pdf');
    expect(server.requests[0]?.text.includes('bill.pdf')).toBe(wire !== google);
    const blind = await agentOver(wire, [], { streaming });
    expect(await blind.agent.run([bill])).toMatchObject({ status: 'failed', error: { code: 'files-not-taken' } });
    expect(blind.server.requests).toEqual([]);
  });

  test('temperature, the limit of tokens and settings of the SDK are passed on', async () => {
    const { agent, server } = await agentOver(wire, [{ text: 'Hi.' }], {
      streaming,
      temperature: 0.25,
      maxTokens: 77,
      sdk: { settings: { seed: 11, headers: { 'x-mine': 'yes' } } },
    });
    await agent.run('Hello');
    expect(server.requests[0]?.text).toMatch(
      /"(?:max_tokens|max_output_tokens|maxOutputTokens|max_completion_tokens)":77/,
    );
    // Reasoning models of OpenAI take no temperature, and Claude no seed: the provider says so.
    if (wire !== openaiResponses) expect(server.requests[0]?.text).toContain('"temperature":0.25');
    if (wire !== openaiResponses && wire !== anthropic) expect(server.requests[0]?.text).toContain('"seed":11');
  });
});

describe('what a provider wants back', () => {
  const again: Said = { thinking: 'Once more.', calls: [{ id: 'call_c', name: 'look', args: {} }] };
  const script = [twoCalls, again, { text: 'Done.' }];
  const run = (wire: Wire, streaming: boolean, sdk = {}) =>
    agentOver(wire, script, { tools: [look(), listen()], streaming, sdk });

  test.each([true, false])('Claude gets its thinking back, signed, byte for byte (streamed: %s)', async (streaming) => {
    const { agent, server } = await run(anthropic, streaming);
    expect(await agent.run('Look.')).toMatchObject({ status: 'answered' });
    const block = (thinking: string) => ({ type: 'thinking', thinking, signature: SIGNATURE });
    expect(ofType(server.requests[1]?.body, 'thinking')).toEqual([block('I need both.')]);
    expect(ofType(server.requests[2]?.body, 'thinking')).toEqual([block('I need both.'), block('Once more.')]);
    // Thinking comes first in its turn, as the model wrote it.
    const turn = valuesOf(server.requests[1]?.body, 'messages')
      .flat()
      .find((message) => valuesOf(message, 'role').includes('assistant'));
    expect(valuesOf(turn, 'type')).toEqual(['thinking', 'text', 'tool_use', 'tool_use']);
  });

  test.each([true, false])(
    'Gemini gets its thought signatures back with the calls (streamed: %s)',
    async (streaming) => {
      const { agent, server } = await run(google, streaming);
      expect(await agent.run('Look.')).toMatchObject({ status: 'answered' });
      expect(valuesOf(server.requests[2]?.body, 'thoughtSignature')).toEqual([SIGNATURE, SIGNATURE]);
      expect(server.requests[2]?.text).not.toContain('skip_thought_signature_validator');
    },
  );

  test.each([true, false])('OpenAI gets its encrypted reasoning back (streamed: %s)', async (streaming) => {
    const options = {
      settings: { providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } } },
    };
    const { agent, server } = await run(openaiResponses, streaming, options);
    expect(await agent.run('Look.')).toMatchObject({ status: 'answered' });
    expect(valuesOf(server.requests[1]?.body, 'encrypted_content')).toEqual([ENCRYPTED]);
  });

  test.each([true, false])('a compatible server gets its reasoning_content back (streamed: %s)', async (streaming) => {
    const { agent, server } = await run(compatible, streaming);
    const going = agent.run('Look.');
    const thoughts = (await eventsOf(going)).flatMap((event) => (event.type === 'thought' ? [event.text] : []));
    expect(thoughts.slice(0, 2)).toEqual(['I need both.', 'Once more.']);
    expect(valuesOf(server.requests[2]?.body, 'reasoning_content')).toEqual(['I need both.', 'Once more.']);
    // What was thought is no part of what was said.
    expect(valuesOf(server.requests[1]?.body, 'content')).toContain('Let me look.');
  });

  test('it is kept in the history for the next run, and is never sent to another model', async () => {
    const first = await run(anthropic, true);
    await first.agent.run('Look.');
    const other = await agentOver(google, [{ text: 'Hello.' }], { history: first.agent.history });
    await other.agent.run('Who are you?');
    expect(other.server.requests[0]?.text).not.toContain('Eq');
    expect(other.server.requests[0]?.text).not.toContain('I need both.');
    expect(other.server.requests[0]?.text).toContain('Let me look.');
    const same = await agentOver(anthropic, [{ text: 'Hello.' }], { history: first.agent.history });
    await same.agent.run('Who are you?');
    expect(ofType(same.server.requests[0]?.body, 'thinking')).toHaveLength(2);
  });
});

test('after a failed tool, an agent hands over what its model takes: Mistral’s get a word of the assistant between', async () => {
  for (const [model, roles] of [
    ['devstral-small', ['user', 'assistant', 'tool', 'assistant', 'user']],
    ['qwen3', ['user', 'assistant', 'tool', 'user']],
  ] as const) {
    const { agent, server } = await agentOver(
      { ...compatible, model: (origin) => Object.assign(compatible.model(origin), { modelId: model }) },
      [{ calls: [{ id: 'call_a', name: 'look', args: {} }] }, { text: 'Nothing.' }],
      { tools: [fakeTool('look', [new Error('dark')])] },
    );
    expect(await agent.run('What is there?')).toMatchObject({ status: 'answered', result: 'Nothing.' });
    expect(valuesOf(server.requests[1]?.body, 'role')).toEqual(roles);
  }
});
