import { fillArguments } from '../fill-arguments.ts';
import { matchTool } from '../match-tool.ts';
import { listed, phraseResult } from '../phrase.ts';
import { wasCalled, type Decision, type Finished, type Rule } from '../scene.ts';

/** Calls the tool that the question names or implies, with the values that stand in the question, and tells the result. */
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
function told(finished: readonly Finished[]): Decision {
  const worked = finished.filter((call) => call.result.ok).map((call) => call.tool);
  const said = finished.filter((call) => call.result.ok || !worked.includes(call.tool));
  return { kind: 'answer', text: said.map(phraseResult).join('\n') };
}
