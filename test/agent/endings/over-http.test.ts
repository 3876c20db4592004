import { describe, expect, test } from 'vitest';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import type { Scripted } from '../../support/model-server.ts';
import { agentOn, eventsOf } from '../agent-on-server.ts';
import { overEachTransport } from '../../support/transports.ts';

const look = () => fakeTool('look', [{ found: 'tea' }]);

overEachTransport(() => {
  describe.each([
    ['in one piece', false],
    ['streamed', true],
  ])('over real HTTP, %s', (_how, streaming) => {
    test.each<[string, Scripted, object]>([
      [
        "OpenAI's refusal",
        { content: null, refusal: 'I will not say.', finishReason: 'stop' },
        { status: 'failed', reason: 'refused', result: 'I will not say.' },
      ],
      [
        'a refusal as the reason to end',
        { content: 'I will not say.', finishReason: 'refusal' },
        { status: 'failed', reason: 'refused', result: 'I will not say.' },
      ],
      [
        'a content filter within the reply',
        { content: 'First, take', finishReason: 'content_filter' },
        { status: 'failed', reason: 'content-filter', result: 'First, take' },
      ],
      [
        'an answer that is cut off',
        { content: 'It is qui', finishReason: 'length' },
        { status: 'stopped', reason: 'length', result: 'It is qui' },
      ],
      [
        'tokens that were all spent on thinking',
        { content: null, reasoning: 'Let me see', finishReason: 'length' },
        { status: 'stopped', reason: 'length', result: expect.stringContaining('while it was thinking') },
      ],
    ])('%s ends the run by one request', async (_what, reply, expected) => {
      const { server, agent } = await agentOn([reply, 'Never asked.'], { streaming, tools: [look()] });
      const result = await agent.run('Go');
      expect(result).toMatchObject({ ...expected, success: false, usage: { totalTokens: 19 } });
      expect(server.requests).toHaveLength(1);
    });

    test('a refusal is shown as it arrives', async () => {
      const { agent } = await agentOn([{ content: null, refusal: 'I will not say.' }], { streaming });
      const tokens = (await eventsOf(agent.run('Go'))).flatMap((event) =>
        event.type === 'model.token' ? [event] : [],
      );
      if (streaming) expect(tokens.length).toBeGreaterThan(1);
      expect(tokens.every(({ kind }) => kind === 'text')).toBe(true);
    });

    test.each(['refusal', 'content_filter'])('calls beside %s do not run', async (finishReason) => {
      const tool = look();
      const toolCalls = [{ id: 'a', name: 'look', arguments: { n: 1 } }];
      const { server, agent } = await agentOn([{ content: 'Hm.', toolCalls, finishReason }], {
        streaming,
        tools: [tool],
      });
      expect(await agent.run('Go')).toMatchObject({ status: 'failed', result: 'Hm.' });
      expect([tool.calls, server.requests.length]).toEqual([[], 1]);
    });

    test('an empty refusal and one of null are none', async () => {
      for (const refusal of ['', null]) {
        const reply = { content: 'I cannot say no.', refusal, finishReason: 'stop' };
        const { agent } = await agentOn([reply], { streaming });
        expect(await agent.run('Go')).toMatchObject({ status: 'answered', result: 'I cannot say no.' });
      }
    });

    test.each([
      ['code', { code: 'content_filter', message: 'Filtered.', param: 'prompt' }],
      ['inner code', { code: '400', message: 'Filtered.', innererror: { code: 'ResponsibleAIPolicyViolation' } }],
    ])('an HTTP 400 of a content filter, by its %s', async (_which, error) => {
      const { server, agent } = await agentOn([{ status: 400, body: { error } }, 'Never asked.'], {
        streaming,
        tools: [look()],
      });
      const result = await agent.run('Go');
      expect(result).toMatchObject({ status: 'failed', reason: 'content-filter', error: { code: 'content-filter' } });
      expect(result.result).toMatch(/^A content filter .* \(HTTP 400 from .*The server said: Filtered\.$/);
      expect(server.requests).toHaveLength(1);
    });

    test('an HTTP 400 that only speaks of a content filter is a failure like others', async () => {
      const error = { code: 'invalid_request', message: 'content_filter', param: 'x', innererror: { code: 'Other' } };
      const { agent } = await agentOn([{ status: 400, body: { error } }], { streaming });
      expect(await agent.run('Go')).toMatchObject({ reason: 'llm-error', error: { code: 'bad-request' } });
    });
  });
});
