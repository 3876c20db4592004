import { findValues } from '../find-values.ts';
import { counted, phraseResult } from '../phrase.ts';
import {
  findTool,
  finishedCalls,
  pathOf,
  type Decision,
  type Finished,
  type PracticeTool,
  type Rule,
  type Scene,
} from '../scene.ts';
import { below, isAbsolute, whereabouts } from './whereabouts.ts';

const ABOUT_READING =
  /\b(?:read|open|show|print|lines?|long|length|says?|contents? of|what(?:'s| is) in|summari[sz]e|begins?)\b/i;
const FIRST_LINES = /\bfirst\s+(?:(\d+)\s+)?lines?\b/i;
const USUAL_LINES = 5;

/** Reads the file that the question names and tells how long it is and how it begins. */
export const readFile: Rule = (scene) => {
  const { question } = scene;
  const tool = findTool(scene, 'read_text_file', 'read_file');
  const values = findValues(question);
  const name = [...values.paths, ...values.quoted].find((path) => /\.\w+$|[\\/]/.test(path));
  if (tool === undefined || name === undefined || !ABOUT_READING.test(question)) return undefined;
  if (/\b(?:write|create|delete|move|rename|edit|append)\b/i.test(question)) return undefined;

  const tried = finishedCalls(scene, tool);
  const read = tried.find((call) => call.result.ok);
  if (read !== undefined) return { kind: 'answer', text: tell(name, read, question) };
  if (tried.length > 0) return searchFor(scene, tool, { name, tried });
  if (isAbsolute(name)) return readAt(tool, name);
  const place = whereabouts(scene);
  if (place.kind === 'ask') return { kind: 'calls', thought: 'First I find out where I am.', calls: [place.call] };
  return readAt(tool, place.kind === 'known' ? below(place.folders[0] ?? '.', name) : name);
};

function readAt(tool: PracticeTool, path: string): Decision {
  return { kind: 'calls', thought: `I read ${path}.`, calls: [{ tool: tool.name, args: { path } }] };
}

/** A file that is not where the question says may lie deeper. */
function searchFor(
  scene: Scene,
  tool: PracticeTool,
  file: { readonly name: string; readonly tried: readonly Finished[] },
): Decision {
  const giveUp: Decision = { kind: 'answer', text: file.tried.map(phraseResult).join('\n') };
  const search = findTool(scene, 'search_files');
  const place = whereabouts(scene);
  if (search === undefined || place.kind !== 'known') return giveUp;
  const searched = finishedCalls(scene, search).at(-1);
  const base = file.name.split(/[\\/]/).at(-1) ?? file.name;
  if (searched === undefined) {
    const args = { path: place.folders[0] ?? '.', pattern: `**/${base}` };
    return {
      kind: 'calls',
      thought: `There is no such file, so I look for ${base} further down.`,
      calls: [{ tool: search.name, args }],
    };
  }
  const found = searched.result.ok
    ? searched.result.text.split('\n').find((line) => line.trim().endsWith(base))
    : undefined;
  return found === undefined || file.tried.length > 1 ? giveUp : readAt(tool, found.trim());
}

function tell(name: string, read: Finished, question: string): string {
  const { result } = read;
  const isWhole = result.ok && result.isWhole;
  const path = pathOf(read);
  const lines = result.text.replace(/\n$/, '').split('\n');
  if (result.text === '') return `${name} (${path}) is empty.`;
  const asked = FIRST_LINES.exec(question);
  const count = Math.min(asked === null ? USUAL_LINES : Number(asked[1] ?? USUAL_LINES), lines.length);
  const frank = /summari[sz]e/i.test(question) ? ' I am no LLM, so I cannot sum it up.' : '';
  const whole = `has ${counted(lines.length, 'line')} and ${counted(result.text.length, 'character')}`;
  const length = `${path} ${isWhole ? whole : 'is longer than I get to see at once'}.${frank}`;
  const begin = count === 1 ? 'Its first line is' : `Its first ${String(count)} lines are`;
  return `${length} ${begin}:\n${lines.slice(0, count).join('\n')}`;
}
