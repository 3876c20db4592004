import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** A Markdown file, by its path from the root. */
export interface Document {
  readonly path: string;
  readonly text: string;
}

/** A fenced block of a document: what stands after the fence, and the line on which the code begins. */
export interface Block {
  readonly document: string;
  readonly line: number;
  readonly info: string;
  readonly code: string;
}

/** Everything that is written for readers. */
export function documents(): readonly Document[] {
  const pages = readdirSync(`${root}docs`).filter((file) => file.endsWith('.md'));
  const paths = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...pages.map((file) => `docs/${file}`)];
  return paths.map((path) => ({ path, text: readFileSync(root + path, 'utf8') }));
}

/** One document. */
export function document(path: string): Document {
  return { path, text: readFileSync(root + path, 'utf8') };
}

/** The fenced blocks of a document. */
export function blocks({ path, text }: Document): readonly Block[] {
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(({ index, 1: info = '', 2: code = '' }) => ({
    document: path,
    line: text.slice(0, index).split('\n').length + 1,
    info: info.trim(),
    code,
  }));
}
