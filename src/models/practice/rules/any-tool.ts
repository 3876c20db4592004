import { fillArguments } from '../fill-arguments.ts';
import { matchTool } from '../match-tool.ts';
import { listed, phraseResult } from '../phrase.ts';
import { wasCalled, type Decision, type Rule } from '../scene.ts';

/** Calls the tool that the question names or implies, with the values that stand in the question, and tells the result. */
export const anyTool: Rule = (scene) => {
  const { question, finished } = scene;
  const told = (): Decision => ({ kind: 'answer', text: finished.map(phraseResult).join('\n') });
  if (finished.some((call) => call.result.ok)) return told();
  const tool = matchTool(scene, question);
  if (tool === undefined) return undefined;
  const filled = fillArguments(tool, question);
  if (!filled.ok) {
    const wanted = listed(filled.missing.map((name) => `\`${name}\``));
    return { kind: 'answer', text: `To use \`${tool.name}\` I need ${wanted}. Please say it in your question.` };
  }
  const call = { tool: tool.name, args: filled.args };
  return wasCalled(scene, call)
    ? told()
    : { kind: 'calls', thought: `The question asks for ${tool.name}.`, calls: [call] };
};
