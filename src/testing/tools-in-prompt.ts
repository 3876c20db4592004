import { isJsonObject, type JsonObject, type Json, parsedText } from '../json/json.ts';

/** A tool as a prompt describes it. */
export interface PromptTool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
}

const HEADING =
  /^[\s>#*-]*(?:\d+[.)]\s*)?(?:tool:?\s*)?[`*"]*([A-Za-z_][\w.-]{0,63})[`*"]*\s*(?:\([^)]*\))?\s*(?:[:—–-]\s*(.*))?$/i;

/** Finds the tools in a system prompt, for json mode, where they are described in words. */
export function toolsInPrompt(prompt: string): readonly PromptTool[] {
  const listed = toolsInList(prompt);
  return listed.length > 0 ? listed : toolsWithSchemas(prompt);
}

/**
 * Tools in a prompt of the user's own: a line that begins with a name, and below it or on it a JSON Schema of the
 * arguments. A list of JSON objects with name and schema is understood too.
 */
function toolsWithSchemas(prompt: string): readonly PromptTool[] {
  const tools: PromptTool[] = [];
  let last: { readonly name: string; readonly description: string } | undefined;
  for (let at = 0; at < prompt.length;) {
    const lineEnd = endOfLine(prompt, at);
    const brace = prompt.indexOf('{', at);
    if (brace !== -1 && brace < lineEnd) {
      last = headingIn(prompt.slice(at, brace).trimEnd()) ?? last;
      const object = objectAt(prompt, brace);
      const tool = object && toolOf(object.value, last);
      if (tool !== undefined && !tools.some((known) => known.name === tool.name)) tools.push(tool);
      at = object?.end ?? brace + 1;
    } else {
      last = headingIn(prompt.slice(at, lineEnd)) ?? last;
      at = lineEnd + 1;
    }
  }
  return tools;
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
}

function headingIn(line: string): { readonly name: string; readonly description: string } | undefined {
  const [, name, description = ''] = HEADING.exec(line) ?? [];
  return name === undefined || LABELS.has(name.toLowerCase()) ? undefined : { name, description };
}

/** Words that stand before a schema and are not a tool's name. */
const LABELS = new Set('arguments args parameters schema input input_schema inputschema tool_args'.split(' '));

function toolOf(
  value: JsonObject,
  heading: { readonly name: string; readonly description: string } | undefined,
): PromptTool | undefined {
  const source = isJsonObject(value['function']) ? value['function'] : value;
  const schema = [source['parameters'], source['inputSchema'], source['input_schema'], source['arguments']].find(
    isJsonObject,
  );
  if (typeof source['name'] === 'string' && schema !== undefined) {
    const description = typeof source['description'] === 'string' ? source['description'] : '';
    return { name: source['name'], description, schema };
  }
  const isSchema = value['type'] === 'object' || isJsonObject(value['properties']);
  return isSchema && heading !== undefined ? { ...heading, schema: value } : undefined;
}

/** The JSON object that begins at this brace. */
function objectAt(text: string, start: number): { readonly value: JsonObject; readonly end: number } | undefined {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{') depth += 1;
    else if (char === '}' && --depth === 0) {
      const value = parsedText(text.slice(start, at + 1));
      return isJsonObject(value) ? { value, end: at + 1 } : undefined;
    }
  }
  return undefined;
}

const HEAD = /^- ([A-Za-z_][\w.-]*)(?:: |, of the MCP server '.*'$)(.*)$/;
const BAR = /^\| /;
const ARGUMENT = /^ {4}(\S+) \((one of \[.*?\]|\{.*\}|\w+)(, optional)?\)(?:$|: | \[default )/;

/**
 * Reads the tools out of the list that agents write into the prompt of json mode: under `Tools:` a line
 * `- name: description` for each, and below it a line `    argument (type, optional): description` for each argument. A
 * server's description of its tool is below the tool's name, behind a bar.
 */
function toolsInList(prompt: string): readonly PromptTool[] {
  const start = /^Tools:$/m.exec(prompt);
  if (start === null) return [];
  const tools: { name: string; description: string; properties: Record<string, Json>; required: string[] }[] = [];
  for (const line of prompt.slice(start.index).split('\n')) {
    const [, name, description = ''] = HEAD.exec(line) ?? [];
    const said = line.replace(BAR, '');
    const [, argument, type = '', optional] = ARGUMENT.exec(said) ?? [];
    const tool = tools.at(-1);
    if (name !== undefined) tools.push({ name, description, properties: {}, required: [] });
    else if (tool === undefined) continue;
    else if (argument !== undefined) {
      tool.properties[argument] = typeOf(type);
      if (optional === undefined) tool.required.push(argument);
    } else if (said !== line && tool.description === '') tool.description = said;
  }
  return tools.map(({ name, description, properties, required }) => {
    return { name, description, schema: { type: 'object', properties, required } };
  });
}

function typeOf(text: string): JsonObject {
  if (text.startsWith('one of ')) return { enum: parsedText(text.slice('one of '.length)) ?? null };
  const schema = text.startsWith('{') ? parsedText(text) : null;
  return isJsonObject(schema) ? schema : { type: text };
}
