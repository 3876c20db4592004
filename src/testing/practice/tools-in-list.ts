import { isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import type { PracticeTool } from './scene.ts';

const HEAD = /^- ([A-Za-z_][\w.-]*): (.*)$/;
const ARGUMENT = /^ {4}(\S+) \((one of \[.*?\]|\{.*\}|\w+)(, optional)?\)(?:$|: | \[default )/;

/**
 * Reads the tools out of the list that agents write into the prompt of json mode: under `Tools:` a line
 * `- name: description` for each, and below it a line `    argument (type, optional): description` for each argument.
 */
export function toolsInList(prompt: string): readonly PracticeTool[] {
  const start = /^Tools:$/m.exec(prompt);
  if (start === null) return [];
  const tools: { name: string; description: string; properties: Record<string, Json>; required: string[] }[] = [];
  for (const line of prompt.slice(start.index).split('\n')) {
    const [, name, description = ''] = HEAD.exec(line) ?? [];
    const [, argument, type = '', optional] = ARGUMENT.exec(line) ?? [];
    const tool = tools.at(-1);
    if (name !== undefined) tools.push({ name, description, properties: {}, required: [] });
    else if (argument !== undefined && tool !== undefined) {
      tool.properties[argument] = typeOf(type);
      if (optional === undefined) tool.required.push(argument);
    }
  }
  return tools.map(({ name, description, properties, required }) => {
    return { name, description, schema: { type: 'object', properties, required } };
  });
}

function typeOf(text: string): JsonObject {
  if (text.startsWith('one of ')) return { enum: parsed(text.slice('one of '.length)) };
  const schema = text.startsWith('{') ? parsed(text) : null;
  return isJsonObject(schema) ? schema : { type: text };
}

function parsed(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}
