import { fillArguments, findValues } from './fill-arguments.ts';
import { matchTool } from './match-tool.ts';
import { listed, phraseResult } from './phrase.ts';
import { wasCalled, type PracticeDecision, type Finished, type Rule, type PracticeCall } from './scene.ts';

/** Calls the tool that the question names or implies, with the values that stand in the question, and reports the result. */
export const anyTool: Rule = (scene) => {
  const { question, finished } = scene;
  if (finished.some((call) => call.result.ok)) return told(finished);
  const tool = matchTool(scene, question);
  if (tool === undefined) return undefined;
  const filled = fillArguments(tool, question);
  if (!filled.ok) {
    const wanted = listed(filled.missing.map((name) => `\`${name}\``));
    return { kind: 'answer', text: `To use \`${tool.name}\` I need ${wanted}. Please say it in your question.` };
  }
  const call = { tool: tool.name, args: filled.args };
  return wasCalled(scene, call)
    ? told(finished)
    : { kind: 'calls', thought: `The question asks for ${tool.name}.`, calls: [call] };
};

/** What came of the calls; a failure that a later try has made good is not worth a word. */
function told(finished: readonly Finished[]): PracticeDecision {
  const worked = finished.filter((call) => call.result.ok).map((call) => call.tool);
  const said = finished.filter((call) => call.result.ok || !worked.includes(call.tool));
  return { kind: 'answer', text: said.map(phraseResult).join('\n') };
}

const PLAN = /^\s*plan\s*:\s*/i;
const BETWEEN = /\s*(?:,?\s*\b(?:and\s+)?then\b|;|->|→)\s*/i;

/** `plan: a then b`: makes a plan of one step for each part, and reports what came of it. */
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
