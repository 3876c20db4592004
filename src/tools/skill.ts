import { named, optionsOf, wrongOption } from '../json/known-options.ts';
import { checkOnError } from '../recovery/plan-data.ts';
import type { OnError } from '../recovery/steps.ts';
import type { Tool } from './tool.ts';

/** The definition of a skill. */
export interface SkillDefinition {
  readonly name: string;
  /** When and how to use its tools; part of the system prompt. */
  readonly instructions?: string | undefined;
  readonly tools?: readonly Tool[] | undefined;
  /** What to do about errors of its tools, if a tool leaves a slot out. */
  readonly onError?: OnError | undefined;
}

/** A group of tools with their own instructions and error handling. Made by {@link skill}. */
export interface Skill {
  readonly name: string;
  readonly instructions: string;
  readonly tools: readonly Tool[];
  readonly onError: OnError | undefined;
}

const checkMembers = optionsOf<SkillDefinition>('skill()', 'docs/tools.md', {
  name: true,
  instructions: true,
  tools: true,
  onError: true,
});

/**
 * Groups tools that belong together: their instructions reach the model, their `onError` comes between the tool's own and
 * the agent's. Throws a `TypeError` that names the skill and what is wrong.
 *
 * @example
 * const files = skill({
 *   name: 'files',
 *   instructions: 'Look before you write.',
 *   tools: [read, write],
 *   onError: { executionError: recover.retry() },
 * });
 */
export function skill(definition: SkillDefinition): Skill {
  checkMembers(definition ?? null, named('Skill', definition));
  const { name, instructions = '', tools = [], onError } = definition;
  if (typeof name !== 'string' || name.trim() === '')
    throw wrongOption('skill(): name must be a text that is not blank.');
  const owner = `Skill '${name}'`;
  if (typeof instructions !== 'string') throw wrongOption(`${owner}: instructions must be a text.`);
  if (!Array.isArray(tools) || tools.some((tool) => typeof tool?.execute !== 'function')) {
    throw wrongOption(`${owner}: tools must be a list of tools made by tool().`);
  }
  checkOnError(owner, onError);
  return Object.freeze({ name, instructions, tools: [...tools], onError });
}

/** True for what {@link skill} made. */
export function isSkill(value: unknown): value is Skill {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(Reflect.get(value, 'tools')) && typeof Reflect.get(value, 'instructions') === 'string';
}
