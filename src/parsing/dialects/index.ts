import type { Dialect } from './dialect.ts';
import { GEMMA } from './gemma.ts';
import { GLM } from './glm.ts';
import { harmony } from './harmony.ts';
import { MARKED_JSON } from './marked-json.ts';
import { mistral } from './mistral.ts';
import { namedObject } from './named-object.ts';
import { NAMED_BLOCKS } from './named-blocks.ts';
import { MARKED_PYTHONIC, pythonic } from './pythonic.ts';
import { react } from './react.ts';
import { TAGGED } from './tagged.ts';

/**
 * The formats whose blocks begin with their own mark. The position of the marks decides which format reads a text; the
 * order here matters only among those that share a mark.
 */
export const MARKED_DIALECTS: readonly Dialect[] = [
  harmony,
  ...NAMED_BLOCKS,
  ...TAGGED,
  ...GLM,
  ...GEMMA,
  ...MARKED_PYTHONIC,
  ...MARKED_JSON,
  mistral,
  react,
];

/** The formats that look like prose: a bracket behind a registered name. */
export const UNMARKED_DIALECTS: readonly Dialect[] = [namedObject, pythonic];

interface Mark {
  readonly piece: string;
  readonly dialect: Dialect;
}

/** Every mark is at least this long. */
const HEAD = 3;
const MARKS: ReadonlyMap<string, readonly Mark[]> = Map.groupBy(
  MARKED_DIALECTS.flatMap((dialect) => dialect.markers.map((piece) => ({ piece, dialect }))),
  ({ piece }) => piece.slice(0, HEAD),
);
const FIRST = new Set(Array.from(MARKS.keys(), (head) => head.charCodeAt(0)));

/** The marks that begin like the text at `at`. */
export function marksAt(text: string, at: number): readonly Mark[] {
  return FIRST.has(text.charCodeAt(at)) ? (MARKS.get(text.slice(at, at + HEAD)) ?? []) : [];
}
