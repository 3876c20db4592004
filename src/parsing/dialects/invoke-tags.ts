import type { Dialect } from './dialect.ts';
import type { DialectSource } from './dialect-source.ts';
import { readTagged, type TagMarks } from './tagged-parameters.ts';

/** The names that model families put before `invoke` and `parameter`. */
const PREFIXES = ['', 'steptml:', '｜DSML｜', '|DSML|', 'minimax:', 'antml:'];

/**
 * MiniMax, Step3, DeepSeek's DSML and others: `<invoke name="f"><parameter name="key">value</parameter></invoke>`,
 * each family with a prefix of its own.
 */
export const invokeTags: Dialect = {
  name: 'invoke-tags',
  markers: PREFIXES.map((prefix) => `<${prefix}invoke`),
  read: (source) => readTagged(source, marksOf(source)),
};

function marksOf(source: DialectSource): TagMarks {
  const prefix = PREFIXES.findLast((candidate) => source.text.includes(`<${candidate}invoke`)) ?? '';
  return {
    openCall: [`<${prefix}invoke`],
    closeCall: [`</${prefix}invoke>`],
    openParameter: [`<${prefix}parameter`],
    closeParameter: [`</${prefix}parameter>`],
    name: (tag) => /\bname\s*=\s*["']([^"']*)["']/.exec(tag)?.[1] ?? '',
  };
}
