import type { Json, JsonObject } from '../../src/parsing/index.ts';
import { printJson, pythonLiteral, pythonText, type Style } from './print-json.ts';

/** One way in which models damage JSON. `texts` says which texts it leaves unambiguous. */
export interface DamageModel {
  readonly name: string;
  /** `any`: whatever the strings hold. The others say which texts the damage leaves unambiguous. */
  readonly texts: 'any' | 'plain' | 'lines' | 'quotes';
  readonly damage: (value: JsonObject) => string;
  /** False where the damage cannot be told from a text that was cut off. */
  readonly complete?: boolean;
}

const style = (name: string, texts: DamageModel['texts'], changes: Partial<Style>): DamageModel => ({
  name,
  texts,
  damage: (value) => printJson(value, changes),
});

const quoted = (name: string, open: string, close: string): DamageModel =>
  style(name, 'plain', { string: (text) => open + text + close, key: (key) => open + key + close });

const json = (value: Json): string => JSON.stringify(value, null, 2);
const compact = (value: Json): string => JSON.stringify(value);
const raw = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
const COMPACT = { newline: '', indent: '' } as const;

/** Damage to the JSON itself. */
export const SYNTAX_DAMAGE: readonly DamageModel[] = [
  style('trailing commas', 'any', { last: ',' }),
  style('trailing commas on one line', 'any', { ...COMPACT, last: ',' }),
  style('leading commas', 'any', { open: ',' }),
  style('doubled commas', 'any', { comma: () => ',,' }),
  style('Python texts and literals', 'any', { string: pythonText, key: pythonText, literal: pythonLiteral }),
  style('Python on one line', 'any', { ...COMPACT, string: pythonText, key: pythonText, literal: pythonLiteral }),
  style('Python texts under JSON keys', 'any', { string: pythonText, literal: pythonLiteral }),
  style('literals in capitals', 'any', { literal: (value) => JSON.stringify(value).toUpperCase() }),
  style('undefined for null', 'any', { literal: (value) => (value === null ? 'undefined' : JSON.stringify(value)) }),
  style('keys without quotes', 'any', { key: (key) => key }),
  style('keys without quotes on one line', 'any', { ...COMPACT, key: (key) => key }),
  style('raw line breaks and tabs in strings', 'lines', { string: raw }),
  style('no commas, one member a line', 'any', { comma: () => '' }),
  style('spaces for commas', 'plain', { ...COMPACT, comma: (_, inList) => (inList ? ', ' : ' ') }),
  style('semicolons for commas', 'any', { comma: () => ';' }),
  style('block comments', 'any', { open: ' /* begin */', last: ' /* end */' }),
  style('line comments', 'any', { open: ' // begin', comma: () => ', // next' }),
  style('hash comments', 'any', { open: ' # begin', comma: () => ', # next' }),
  style('= for the colon', 'any', { colon: ' = ' }),
  style('=> for the colon', 'any', { colon: ' => ' }),
  style('full-width colons and commas', 'any', { colon: '：', comma: () => '，' }),
  style('no colons', 'plain', { colon: ' ' }),
  style('opening quotes of keys missing', 'any', { key: (key) => `${key}"` }),
  style('keys closed by the other quote', 'any', { key: (key) => `"${key}'` }),
  style('ellipsis at the end of lists', 'any', { lastItem: ', ...' }),
  style('strings in two halves', 'any', {
    string: (text) => `${JSON.stringify(text.slice(0, 1))} + ${JSON.stringify(text.slice(1))}`,
  }),
  style('triple quotes', 'plain', { string: (text) => `"""${text}"""` }),
  style('escaped apostrophes', 'any', { string: (text) => JSON.stringify(text).replaceAll("'", "\\'") }),
  style('Markdown underscores in keys', 'any', { key: (key) => JSON.stringify(key).replaceAll('_', '\\_') }),
  style('plus signs before numbers', 'any', {
    literal: (value) => (typeof value === 'number' && value > 0 ? `+${value}` : JSON.stringify(value)),
  }),
  style('dots after integers', 'any', {
    literal: (value) => (typeof value === 'number' && Number.isInteger(value) ? `${value}.` : JSON.stringify(value)),
  }),
  style('no-break spaces', 'any', { indent: '\u00a0\u00a0', colon: ':\u00a0' }),
  style('CRLF', 'any', { newline: '\r\n' }),
  style('texts without quotes, one a line', 'plain', {
    string: (text) => (/^\d/.test(text) ? JSON.stringify(text) : text),
    literal: pythonLiteral,
    comma: () => '',
  }),
  quoted('smart quotes', '“', '”'),
  quoted('low smart quotes', '„', '“'),
  quoted('smart single quotes', '‘', '’'),
  quoted('guillemets', '«', '»'),
  style('quotes inside texts', 'quotes', { string: (text) => `"${text}"` }),
  {
    name: 'one level of escaping too much',
    texts: 'any',
    damage: (value) => compact(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"'),
  },
  { name: 'JSON written as a string', texts: 'any', damage: (value) => compact(compact(value)) },
  { name: 'the last closer missing', texts: 'any', complete: false, damage: (value) => json(value).slice(0, -1) },
  {
    name: 'all closers at the end missing',
    texts: 'any',
    complete: false,
    damage: (value) => compact(value).replace(/[\]}]+$/, ''),
  },
  { name: 'a closer too many', texts: 'any', damage: (value) => `${json(value)}}` },
  { name: 'several closers too many', texts: 'any', damage: (value) => `${compact(value)}}]}` },
  { name: 'the object twice', texts: 'any', damage: (value) => `${json(value)}\n${compact(value)}` },
];

/** What models put around their JSON. It can be combined with any damage. */
export const WRAPPINGS: readonly { readonly name: string; readonly wrap: (text: string) => string }[] = [
  { name: 'nothing', wrap: (text) => text },
  { name: 'a JSON fence', wrap: (text) => `\`\`\`json\n${text}\n\`\`\`` },
  { name: 'a bare fence', wrap: (text) => `\`\`\`\n${text}\n\`\`\`` },
  {
    name: 'a fence in prose',
    wrap: (text) => `Sure! Here it is:\n\n\`\`\`json\n${text}\n\`\`\`\n\nLet me know if that works.`,
  },
  { name: 'prose around it', wrap: (text) => `Let me think about this.\n${text}\nI will wait for the result.` },
  {
    name: 'prose with braces',
    wrap: (text) => `The config uses {placeholders} and [brackets], e.g. {name}.\n${text}\nDone {ok}.`,
  },
  { name: 'a think block', wrap: (text) => `<think>\nMaybe {"tool": "no", "tool_args": {}}? No.\n</think>\n${text}` },
  { name: 'a think block without its opening', wrap: (text) => `Maybe {"tool": "no"}? No.\n</think>\n${text}` },
  { name: 'a bracketed think block', wrap: (text) => `[THINK]hm[/THINK]${text}` },
  { name: 'special tokens', wrap: (text) => `<|im_start|>assistant\n${text}<|im_end|>` },
  { name: 'a token at the end', wrap: (text) => `${text}<|eot_id|>` },
  { name: 'another turn after it', wrap: (text) => `${text}\n<|im_start|>user\n{"tool": "other", "tool_args": {}}` },
  { name: 'invisible marks', wrap: (text) => `\ufeff\u200b${text}\u200b` },
  { name: 'a label', wrap: (text) => `Assistant: ${text}` },
  { name: 'an assignment', wrap: (text) => `Response = ${text};` },
  { name: 'XML tags', wrap: (text) => `<output>${text}</output>` },
  { name: 'a callback', wrap: (text) => `callback(${text});` },
];
