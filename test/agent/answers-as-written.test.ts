import { describe, expect, test } from 'vitest';
import { overEachTransport } from '../support/transports.ts';
import { agentOn } from './agent-on-server.ts';

overEachTransport(() => {
  const answerOf = async (text: string, toolCalling: 'native' | 'json') => {
    const { agent } = await agentOn([text], { toolCalling });
    return (await agent.run('What does it cost?')).result;
  };

  describe.each(['native', 'json'] as const)('an answer in %s mode', (mode) => {
    test.each([
      'Now 5 euros, was <s>10 euros</s>',
      '<s>old</s>',
      'It was <s>20</s>, then <s>10</s>',
      'Was <s>10 euros</s>\n\nNow 5.',
    ])('keeps the end of what it strikes out: %s', async (text) => {
      expect(await answerOf(text, mode)).toBe(text);
    });

    test.each([
      ['Five euros.</s>', 'Five euros.'],
      ['Five euros.</s>\n', 'Five euros.'],
      ['Was <s>10 euros</s></s>', 'Was <s>10 euros</s>'],
      ['It was <s>20</s>, now five.</s>', 'It was <s>20</s>, now five.'],
      ['<s>Five euros.</s>', 'Five euros.'],
      ['Llama begins with `<s>`.</s>', 'Llama begins with `<s>`.'],
      ['Five <s>euros<|im_end|>', 'Five <s>euros'],
    ])('ends without the marks of its template: %s', async (text, answer) => {
      expect(await answerOf(text, mode)).toBe(answer);
    });
  });
});
