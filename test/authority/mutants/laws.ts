import { isDeepStrictEqual } from 'node:util';
import type { ToolCallRequest } from '../../../src/parsing/index.ts';
import type { parseReply } from '../../../src/parsing/reply/parse-reply.ts';
import type { TextCalls } from '../../../src/parsing/reply/reply-source.ts';
import { CUTS, UNREADABLE } from '../cuts.ts';
import { WRITERS } from '../dialects.ts';
import { TALK, UNFENCED } from '../quotes.ts';
import { STUFFED } from '../strings.ts';
import { THOUGHTFUL } from '../thoughts.ts';

/** All arguments may be left out, so that nothing but the reading protects from a call that was cut. */
const schema = (text: readonly string[] | string) => ({
  type: 'object',
  properties: { text: { type: text }, count: { type: 'number' } },
});
const TOOLS = [
  { name: 'note', inputSchema: schema('string') },
  { name: 'note_all', inputSchema: schema(['string']) },
  { name: 'wipe', inputSchema: schema('string') },
];
/** Text between tags that is JSON, for a parameter that is a text. */
const JSON_TEXT = '{"theme":"dark"}';
const TAGGED = ['note', 'note_all'].flatMap((name) => [
  `<invoke name="${name}"><parameter name="text">${JSON_TEXT}</parameter></invoke>`,
  `<function=${name}><parameter=text>${JSON_TEXT}</parameter></function>`,
  `<tool_call>${name}<arg_key>text</arg_key><arg_value>${JSON_TEXT}</arg_value></tool_call>`,
]);
const DAMAGED = `<tool_call>{'name': 'note', 'arguments': {'text': 'it ends with </tool_call> here'}}</tool_call>`;
const UNCLOSED = '<function=note><parameter=text>1<parameter=count>2</parameter></function>';
const DATA = ['{"answer":42,"unit":"kg"}', '{"thought":"t","answer":"hi","sources":[1]}'];
const ENVELOPE = '{"tool": "wipe", "tool_args": {}}';

/** Whether the laws of authority hold, one after the other, over a sample of the texts of these tests. */
function* kept(parse: typeof parseReply): Generator<boolean> {
  const whole = (text: string, textCalls: TextCalls): readonly ToolCallRequest[] =>
    parse(text, { tools: TOOLS, textCalls }).calls.filter(
      ({ complete, issues = [] }) => complete && issues.length === 0,
    );
  const none = (text: string, mode: TextCalls): boolean => whole(text, mode).length === 0;

  yield none(ENVELOPE, 'never');
  yield none(UNCLOSED, 'lenient');
  yield none(`I look.\n${ENVELOPE} is what I would send.`, 'narrated');
  yield isDeepStrictEqual(whole(DAMAGED, 'lenient')[0]?.args, { text: 'it ends with </tool_call> here' });
  yield parse('{"answer": "hi"}', { tools: TOOLS, textCalls: 'never' }).answer === '{"answer": "hi"}';
  yield parse('{"thought": "t", "answer": "hi"}', { tools: TOOLS, textCalls: 'never' }).answer === 'hi';
  for (const text of TAGGED) yield isDeepStrictEqual(whole(text, 'lenient')[0]?.args, { text: JSON_TEXT });
  for (const text of DATA) yield parse(text, { tools: TOOLS }).answer === text;
  for (const text of UNREADABLE) yield none(text, 'lenient');
  for (const writer of WRITERS) yield none(`${writer.write('wipe', {}).text}\nThat is what I do now.`, 'whole-reply');
  for (const { text } of TALK) yield none(text, 'lenient');
  for (const { text } of UNFENCED) yield none(text, 'narrated') && none(text, 'whole-reply');
  for (const [n, { text }] of THOUGHTFUL.entries())
    if (n % 2 === 0) yield whole(text, 'lenient').every(({ name }) => name !== 'wipe');
  for (const [n, cut] of CUTS.entries()) if (!cut.whole && n % 5 === 0) yield none(cut.text, 'lenient');
  for (const [n, { text, args, mayBeRefused }] of STUFFED.entries()) {
    if (n % 3 !== 0) continue;
    const [call, ...more] = whole(text, 'lenient');
    if (call === undefined) yield mayBeRefused;
    else yield more.length === 0 && call.name === 'note' && isDeepStrictEqual(call.args, args);
  }
}

/** True when a parser breaks one of the laws of authority. */
export function breaksLaw(parse: typeof parseReply): boolean {
  for (const law of kept(parse)) if (!law) return true;
  return false;
}
