import type { Reply } from '../reply.ts';
import { readReplyText } from './read-reply.ts';
import { type ParseReplyOptions, checkReplyOptions } from './reply-source.ts';

/**
 * Reads a model's reply: thought, answer, plan and tool calls, however they are wrapped or broken. What may become a
 * call is the option `textCalls`; text that is quoted, commented, thought or made up never does. Never throws, whatever
 * the text; only options that it does not know are a `TypeError`. Its work grows linearly with the text.
 *
 * @example parseReply('Sure!\n```json\n{"tool": "add", "tool_args": {"a": 1}}\n```').calls[0]?.name // 'add'
 */
export function parseReply(text: string, options?: ParseReplyOptions): Reply {
  checkReplyOptions('parseReply', options);
  return readReplyText(text, options).reply;
}
