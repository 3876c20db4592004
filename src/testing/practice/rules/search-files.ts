import { findValues } from '../find-values.ts';
import { counted, listed, phraseResult } from '../phrase.ts';
import { findTool, finishedCalls, type Rule } from '../scene.ts';
import { whereabouts } from './whereabouts.ts';

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
