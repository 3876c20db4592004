import { expect, test } from 'vitest';
import { overEachTransport } from '../support/transports.ts';
import type { Scripted } from '../support/model-server.ts';
import { agentOn } from './agent-on-server.ts';

const events = (mark: string, ...payloads: readonly unknown[]): Scripted => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  pieces: [mark, ...payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`), 'data: [DONE]\n\n'],
});
const choice = (content: string, finish_reason: string | null, more = {}) => ({
  choices: [{ index: 0, delta: { content }, message: { content }, finish_reason, ...more }],
});

overEachTransport(() => {
  test('an answer that comes in pieces, each beside all that has come so far, is said once', async () => {
    const grown = (content: string, all: string, end: string | null = null) => ({
      choices: [{ index: 0, delta: { content }, message: { content: all }, finish_reason: end }],
    });
    const { agent } = await agentOn([events('', grown('It ', 'It '), grown('rains.', 'It rains.', 'stop'))], {
      streaming: true,
    });
    expect((await agent.run('How is it?')).result).toBe('It rains.');
  });

  test.each(['error', 'abort', 'insufficient_system_resource', 'network_error'])(
    'a reply that its server ends with %o is asked for again and is never the answer',
    async (reason) => {
      const streamed = events('', choice('It is', null), choice('', reason));
      for (const broken of [streamed, { status: 200, body: choice('It is', reason) }]) {
        const { agent, server } = await agentOn([broken, 'It is 3.'], { streaming: broken === streamed });
        expect(await agent.run('1 + 2?')).toMatchObject({ status: 'answered', result: 'It is 3.' });
        expect(server.requests).toHaveLength(2);
      }
    },
  );

  test('what a server says of an error in a choice is told', async () => {
    const failed: Scripted = {
      status: 200,
      body: choice('', 'error', { error: { code: 502, message: 'upstream is gone' } }),
    };
    const { agent } = await agentOn([failed, failed]);
    const { error } = await agent.run('1 + 2?');
    expect(error).toMatchObject({ code: 'server-error' });
    expect(error?.message).toContain('upstream is gone');
  });

  test.each([
    ['model_length', 'stopped', 'length'],
    ['model_context_window_exceeded', 'stopped', 'length'],
    ['sensitive', 'failed', 'content-filter'],
    ['content_filter: RECITATION', 'failed', 'content-filter'],
    ['MAX_TOKENS', 'stopped', 'length'],
    ['SAFETY', 'failed', 'content-filter'],
    ['STOP', 'answered', 'answer'],
    ['eos', 'answered', 'answer'],
  ])('an answer that a server ends with %o is %s', async (said, status, reason) => {
    for (const streaming of [true, false]) {
      const reply: Scripted = { status: 200, body: choice('It is', said) };
      const { agent, server } = await agentOn([streaming ? events('', choice('It is', said)) : reply], { streaming });
      expect(await agent.run('1 + 2?')).toMatchObject({ status, reason, result: 'It is' });
      expect(server.requests).toHaveLength(1);
    }
  });

  test('a call that Gemini could not read is told to it, and is never the answer', async () => {
    const unread = choice('print(default_api.look())', 'function_call_filter: MALFORMED_FUNCTION_CALL');
    const { agent, server } = await agentOn([{ status: 200, body: unread }, 'It is 3.']);
    expect(await agent.run('1 + 2?')).toMatchObject({ status: 'answered', result: 'It is 3.' });
    expect(server.requests[1]?.text).toContain('could not be read');
  });

  test('nothing is lost of a reply that begins with a byte order mark', async () => {
    const streamed = events('\uFEFF', choice('It is', null), choice(' 3.', 'stop'));
    const whole: Scripted = { status: 200, body: `\uFEFF${JSON.stringify(choice('It is 3.', 'stop'))}` };
    for (const marked of [streamed, whole]) {
      const { agent } = await agentOn([marked], { streaming: marked === streamed });
      expect(await agent.run('1 + 2?')).toMatchObject({ status: 'answered', result: 'It is 3.' });
    }
  });
});
