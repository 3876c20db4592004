import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/parsing/index.ts';
import { envelope, plainText } from '../../test/parsing/arbitraries.ts';
import { SYNTAX_DAMAGE, WRAPPINGS } from '../../test/parsing/damage-models.ts';

/** Texts of one kind, and what is right for each. */
export interface Workload {
  readonly name: string;
  readonly cases: readonly { readonly text: string; readonly value: Json }[];
}

const SEED = 11;

/** About 1 KB of envelope, as an agent's model writes it. */
const KILOBYTE: JsonObject = {
  thought: 'The file has to be written before it can be read again. '.repeat(5),
  goal: 'write the report',
  tool: 'write_file',
  tool_args: {
    path: '/tmp/report.md',
    content: 'A line of the report, with "quotes" in it.\n'.repeat(12),
    overwrite: true,
    mode: 420,
  },
};

/** Every kind of text that the bench times. */
export function workloads(): readonly Workload[] {
  const samples = fc.sample(envelope(plainText), { numRuns: 8, seed: SEED });
  const pretty = JSON.stringify(KILOBYTE, null, 2);
  return [
    { name: 'valid, 1 KB', cases: [{ text: pretty, value: KILOBYTE }] },
    { name: 'valid, small', cases: samples.map((value) => ({ text: JSON.stringify(value), value })) },
    { name: 'cut, 1 KB', cases: [{ text: pretty.slice(0, -2), value: KILOBYTE }] },
    {
      name: 'trailing commas, 1 KB',
      cases: [{ text: pretty.replaceAll('\n}', ',\n}').replaceAll('\n  }', ',\n  }'), value: KILOBYTE }],
    },
    { name: 'raw line breaks, 1 KB', cases: [{ text: pretty.replaceAll('\\n', '\n'), value: KILOBYTE }] },
    {
      name: 'fenced in prose, 1 KB',
      cases: [{ text: `Sure:\n\`\`\`json\n${pretty}\n\`\`\`\nDone.`, value: KILOBYTE }],
    },
    {
      name: 'every damage, small',
      cases: SYNTAX_DAMAGE.filter(({ texts }) => texts !== 'quotes').flatMap(({ damage }) =>
        samples.map((value) => ({ text: damage(value), value })),
      ),
    },
    {
      name: 'every wrapping, small',
      cases: WRAPPINGS.flatMap(({ wrap }) => samples.map((value) => ({ text: wrap(JSON.stringify(value)), value }))),
    },
  ];
}
