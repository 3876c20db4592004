import { isJsonObject } from '../../json/json.ts';
import type { ToolOutcome } from './scene.ts';

/** Reads what a tool message says: a tool result in JSON, with MCP's content inside or not, or plain text. */
export function readResult(content: string): ToolOutcome {
  const value = parsed(content);
  if (!isJsonObject(value)) return cutResult(content) ?? { ok: true, text: content, data: value, isWhole: true };
  const { status, error } = value;
  if (status === 'error' || value['isError'] === true || (typeof error === 'string' && status !== 'success')) {
    return { ok: false, text: textOf(error ?? value['message'] ?? value['content'] ?? value) };
  }
  const data = 'data' in value ? value['data'] : 'status' in value ? value['message'] : value;
  const text = textOf(data);
  return { ok: true, text, data: isJsonObject(data) && isMcpContent(data) ? parsed(text) : data, isWhole: true };
}

/** A long result has its middle cut out, so it is no JSON any more: its longest text is read as far as it goes. */
function cutResult(content: string): ToolOutcome | undefined {
  const [head, status] = /^\{"status":"(\w+)".*?"(?:data|content|message|error)":\s*"/s.exec(content) ?? [];
  if (head === undefined) return undefined;
  const text = content
    .slice(head.length)
    .replace(/"[\]}]*$/, '')
    .replaceAll(/\\(["\\/nrt])/g, (_all, char: string) => ESCAPES[char] ?? char);
  return status === 'error' ? { ok: false, text } : { ok: true, text, data: text, isWhole: false };
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((part) => isJsonObject(part) && part['type'] === 'text')
  ) {
    return value.map((part: unknown) => (isJsonObject(part) ? textOf(part['text']) : '')).join('\n');
  }
  if (isJsonObject(value) && isMcpContent(value)) return textOf(value['content']);
  return value === undefined ? '' : JSON.stringify(value);
}

/** `{ content: … }` and nothing but MCP's own companions beside it. */
function isMcpContent(value: { readonly [key: string]: unknown }): boolean {
  const { content } = value;
  const companions = ['content', 'structuredContent', 'isError', '_meta'];
  return (
    (typeof content === 'string' || Array.isArray(content)) &&
    Object.keys(value).every((key) => companions.includes(key))
  );
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}
