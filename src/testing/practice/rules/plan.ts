import { fillArguments } from '../fill-arguments.ts';
import { matchTool } from '../match-tool.ts';
import { listed, phraseResult } from '../phrase.ts';
import type { PracticeCall, Rule } from '../scene.ts';

const PLAN = /^\s*plan\s*:\s*/i;
const BETWEEN = /\s*(?:,?\s*\b(?:and\s+)?then\b|;|->|→)\s*/i;

/** `plan: a then b`: makes a plan of one step for each part, and tells what came of it. */
export const planOnRequest: Rule = (scene) => {
  const { question, finished } = scene;
  if (!PLAN.test(question)) return undefined;
  if (finished.length > 0) return { kind: 'answer', text: finished.map(phraseResult).join('\n') };
  const parts = question
    .replace(PLAN, '')
    .split(BETWEEN)
    .filter((part) => part.trim() !== '');
  const steps = parts.map((part): PracticeCall | string => {
    const tool = matchTool(scene, part);
    if (tool === undefined) return `no tool fits "${part}"`;
    const filled = fillArguments(tool, part);
    return filled.ok ? { tool: tool.name, args: filled.args } : `\`${tool.name}\` needs ${listed(filled.missing)}`;
  });
  const problems = steps.filter((step) => typeof step === 'string');
  if (problems.length > 0) return { kind: 'answer', text: `I cannot plan that: ${listed(problems)}.` };
  const calls = steps.filter((step) => typeof step !== 'string');
  return { kind: 'plan', thought: `This takes ${String(calls.length)} steps.`, steps: calls };
};
