import { fillArguments } from '../fill-arguments.ts';
import { findValues } from '../find-values.ts';
import { matchTool } from '../match-tool.ts';
import type { Rule } from '../scene.ts';

const OPERATION_WORDS: Readonly<Record<string, string>> = {
  '+': 'add sum plus',
  '-': 'subtract minus',
  '*': 'multiply times product',
  '/': 'divide quotient',
  '^': 'power',
  '%': 'modulo remainder',
};

/** Has a sum in the question worked out by a tool that calculates, whatever it is called. */
export const arithmetic: Rule = (scene) => {
  const { expression } = findValues(scene.question);
  if (expression === undefined || scene.finished.length > 0) return undefined;
  const operations = Object.entries(OPERATION_WORDS).filter(([sign]) => expression.slice(1).includes(sign));
  const meaning = `calculate calculator math arithmetic expression ${operations.map(([, words]) => words).join(' ')}`;
  const tool = matchTool(scene, `${scene.question} ${meaning}`);
  const filled = tool === undefined ? undefined : fillArguments(tool, `${scene.question} (${meaning})`);
  if (tool === undefined || filled?.ok !== true) return undefined;
  return {
    kind: 'calls',
    thought: `I have ${expression} worked out.`,
    calls: [{ tool: tool.name, args: filled.args }],
  };
};
