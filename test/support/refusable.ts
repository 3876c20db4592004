import type { ModelRequest } from '../../src/actors/model.ts';
import { encodeRequest } from '../../src/models/chat/encode-request.ts';

interface Wire {
  readonly role: string;
  readonly content: string | null | readonly { readonly type: string; readonly text?: string }[];
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[];
}

const STATE = { id: 'm', reasoning: false, fills: false, signs: false };

/** What the strictest of servers would refuse in a request, in whichever order its messages are sent. */
export function refusable(request: ModelRequest): readonly string[] {
  const found = [false, true].flatMap((isStrict) => {
    const state = { ...STATE, isStrict };
    const { body } = encodeRequest(request, {
      model: 'm',
      without: new Set(),
      isOpenAI: false,
      extra: undefined,
      state,
    });
    const { messages } = JSON.parse(body) as { readonly messages: readonly Wire[] };
    const said = messages[0]?.role === 'system' ? messages.slice(1) : messages;
    return [...orderOf(said), ...said.flatMap(wordsOf), ...(body.isWellFormed() ? [] : ['half a character'])];
  });
  return [...new Set(found)];
}

function orderOf(said: readonly Wire[]): readonly string[] {
  const wrong: string[] = [];
  if (said[0]?.role !== 'user') wrong.push(`begins with ${said[0]?.role ?? 'nothing'}`);
  if (said.at(-1)?.role === 'assistant') wrong.push('ends with the assistant');
  const ids = new Set<string>();
  let open = new Set<string>();
  for (const { role, tool_call_id: id = '', tool_calls: calls = [] } of said) {
    if (role === 'system') wrong.push('has a system prompt inside');
    if (role === 'tool' && !open.delete(id)) wrong.push('has a result without its call');
    if (role === 'tool') continue;
    if (open.size > 0) wrong.push('has a call without its result');
    if (calls.some((call) => ids.has(call.id))) wrong.push('has an id twice');
    for (const call of calls) ids.add(call.id);
    open = new Set(calls.map((call) => call.id));
  }
  return open.size > 0 ? [...wrong, 'ends with a call'] : wrong;
}

function wordsOf({ role, content, tool_calls: calls }: Wire): readonly string[] {
  const texts = typeof content === 'string' ? [content] : (content ?? []).map(({ text = 'none' }) => text);
  const mayBeEmpty = calls !== undefined || role === 'tool';
  const isBlank = texts.some((text) => text.trim() === '' && !(mayBeEmpty && text === ''));
  const isNothing = content === null && calls === undefined;
  const isWrong = (calls ?? []).some((call) => !call.function.arguments.startsWith('{'));
  return [...(isBlank || isNothing ? [`has a blank text of ${role}`] : []), ...(isWrong ? ['has no arguments'] : [])];
}
