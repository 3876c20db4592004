import { findValues } from './fill-arguments.ts';
import { counted } from '../../terminal/text-width.ts';
import { phraseResult, listed } from './phrase.ts';
import {
  findTool,
  finishedCalls,
  pathOf,
  type PracticeDecision,
  type Finished,
  type Rule,
  type Scene,
  below,
  isAbsolute,
  whereabouts,
} from './scene.ts';
import type { PromptTool } from '../../testing/tools-in-prompt.ts';

const ABOUT_READING =
  /\b(?:read|open|show|print|lines?|long|length|says?|contents? of|what(?:'s| is) in|summari[sz]e|begins?)\b/i;
const FIRST_LINES = /\bfirst\s+(?:(\d+)\s+)?lines?\b/i;
const USUAL_LINES = 5;

/** Reads the file that the question names and reports its length and its beginning. */
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

function readAt(tool: PromptTool, path: string): PracticeDecision {
  return { kind: 'calls', thought: `I read ${path}.`, calls: [{ tool: tool.name, args: { path } }] };
}

/** A file that is not where the question says may lie deeper. */
function searchFor(
  scene: Scene,
  tool: PromptTool,
  file: { readonly name: string; readonly tried: readonly Finished[] },
): PracticeDecision {
  const giveUp: PracticeDecision = { kind: 'answer', text: file.tried.map(phraseResult).join('\n') };
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

const ABOUT_SEARCHING =
  /\b(?:find|search|locate|look for|where (?:is|are)|all (?:the )?\w+ files|how many \w+ files)\b/i;
const BY_KIND: Readonly<Record<string, string>> = {
  markdown: 'md',
  typescript: 'ts',
  javascript: 'js',
  python: 'py',
  text: 'txt',
  json: 'json',
  image: 'png',
  pdf: 'pdf',
  csv: 'csv',
  yaml: 'yaml',
  html: 'html',
  css: 'css',
};
const SHOWN = 20;

/** Finds files by name, by ending or by kind, however deep they lie. */
export const searchFiles: Rule = (scene) => {
  const { question } = scene;
  const tool = findTool(scene, 'search_files');
  const pattern = patternIn(question);
  if (tool === undefined || pattern === undefined || !ABOUT_SEARCHING.test(question)) return undefined;
  const done = finishedCalls(scene, tool).at(-1);
  if (done === undefined) {
    const place = whereabouts(scene);
    if (place.kind === 'ask') return { kind: 'calls', thought: 'First I find out where I am.', calls: [place.call] };
    const folders = place.kind === 'known' ? place.folders : ['.'];
    const calls = folders.map((path) => ({ tool: tool.name, args: { path, pattern: `**/${pattern}` } }));
    return { kind: 'calls', thought: `I look for ${pattern}.`, calls };
  }
  if (!done.result.ok) return { kind: 'answer', text: phraseResult(done) };
  const texts = finishedCalls(scene, tool).map((call) => (call.result.ok ? call.result.text : ''));
  const found = texts
    .join('\n')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^no matches/i.test(line));
  if (found.length === 0) return { kind: 'answer', text: `I found nothing that matches ${pattern}.` };
  const shown = found.length > SHOWN ? [...found.slice(0, SHOWN), `${String(found.length - SHOWN)} more`] : found;
  return {
    kind: 'answer',
    text: `I found ${counted(found.length, 'match').replace('matchs', 'matches')} for ${pattern}: ${listed(shown)}.`,
  };
};

function patternIn(question: string): string | undefined {
  const glob = /(?<![\w/])[\w*-]*\*[\w.*-]*/.exec(question)?.[0];
  if (glob !== undefined) return glob;
  const kind = /\b(\w+) files\b/i.exec(question)?.[1]?.toLowerCase();
  const ending = kind === undefined ? undefined : (BY_KIND[kind] ?? /\.(\w+) files\b/i.exec(question)?.[1]);
  if (ending !== undefined) return `*.${ending}`;
  const { quoted, paths } = findValues(question);
  const name = [...quoted, ...paths][0];
  return name === undefined ? undefined : name.includes('.') ? name : `*${name}*`;
}
