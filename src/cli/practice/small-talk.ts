import { findTool, type Rule } from './scene.ts';
import { listed } from './phrase.ts';

const GREETING =
  /^(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)\b[\s,!.]*(?:there|everyone|signalbox)?[\s!.]*$/i;
const THANKS = /^(?:thanks|thank you|thx|cheers)\b/i;
const WHO = /\b(?:who|what) are you\b|\bwhat can you do\b|^help\b|\bwhich model\b/i;

/** Greets, and says what the practice model is. */
export const smallTalk: Rule = (scene) => {
  const { question } = scene;
  if (GREETING.test(question)) {
    return {
      kind: 'answer',
      text: `Hello! I am the practice model, a rule-based stand-in and no LLM. ${abilities(scene)}`,
    };
  }
  if (THANKS.test(question)) return { kind: 'answer', text: 'You are welcome.' };
  if (WHO.test(question)) {
    return { kind: 'answer', text: `I am signalbox-practice, a rule-based stand-in and no LLM. ${abilities(scene)}` };
  }
  return undefined;
};

/** The last rule: says frankly that the practice model cannot help, and what it can do. */
export const frankAnswer: Rule = (scene) => ({
  kind: 'answer',
  text:
    'I cannot answer that: I am only the practice model, a rule-based stand-in and no LLM. ' +
    `${abilities(scene)} For real answers configure a model, for instance with SIGNALBOX_MODEL.`,
});

function abilities(scene: Parameters<Rule>[0]): string {
  const { tools } = scene;
  const canList = findTool(scene, 'list_directory_with_sizes', 'list_directory') !== undefined;
  const canRead = findTool(scene, 'read_text_file', 'read_file') !== undefined;
  const examples = [
    ...(canList ? ['"What is in this folder, and which file is the largest?"'] : []),
    ...(canRead ? ['"What are the first 3 lines of README.md?"'] : []),
  ];
  if (examples.length > 0) return `I do real work with real tools; try ${listed(examples)}.`;
  const names = tools.slice(0, 8).map((tool) => `\`${tool.name}\``);
  if (names.length === 0) return 'I have no tools here, so I can only chat about myself.';
  return `I do real work with real tools; name one and its arguments. Here I have ${listed(names)}.`;
}
