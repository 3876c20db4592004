import { anyTool } from './rules/any-tool.ts';
import { arithmetic } from './rules/arithmetic.ts';
import { listFolder } from './rules/list-folder.ts';
import { planOnRequest } from './rules/plan.ts';
import { readFile } from './rules/read-file.ts';
import { searchFiles } from './rules/search-files.ts';
import { frankAnswer, smallTalk } from './rules/small-talk.ts';
import type { Decision, Rule, Scene } from './scene.ts';

/** What the practice model can do, the most particular first. */
const RULES: readonly Rule[] = [planOnRequest, smallTalk, searchFiles, readFile, listFolder, arithmetic, anyTool];

/** What the practice model says next. The same scene always gives the same decision. */
export function decide(scene: Scene): Decision {
  for (const rule of RULES) {
    const decision = rule(scene);
    if (decision !== undefined) return decision;
  }
  return frankAnswer(scene) ?? { kind: 'answer', text: '' };
}
