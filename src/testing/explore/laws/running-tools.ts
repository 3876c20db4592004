import { digest } from '../../../json/digest.ts';
import { checkArguments } from '../../../parsing/calls/arguments.ts';
import { type JsonObject, isJsonObject } from '../../../json/json.ts';
import type { ToolSpec } from '../../../tools/spec.ts';
import { type CallFacts, begins, callFacts, isOwn, isBirth, ownerOf, textAt, wasHandedOver } from '../walk/story.ts';
import { type Law, type Situation, news } from './law.ts';
import { isToolCall } from '../walk/explored-run.ts';

/** One run of a tool that has just begun. */
export interface Begun {
  readonly path: string;
  readonly spec: ToolSpec | undefined;
  readonly name: string;
  readonly args: JsonObject;
  readonly facts: CallFacts;
}

/** A law of every run of a tool at its beginning. */
export const eachRun =
  (check: (begun: Begun, situation: Situation) => string | null) =>
  (situation: Situation): string | null => {
    for (const { one, before } of news(situation)) {
      if (!begins(one, 'callTool') || !isJsonObject(one.effect.request)) continue;
      const { tool, args } = one.effect.request;
      const path = ownerOf(one.effect);
      const wrong = check(
        {
          path,
          name: textAt(one.effect.request, 'tool'),
          spec: toolsAt(situation, path).find(({ name }) => name === tool),
          args: isJsonObject(args) ? args : {},
          facts: callFacts(before, path),
        },
        situation,
      );
      if (wrong !== null) return wrong;
    }
    return null;
  };

/** The tools that the call at a path was given, or those of the machine. */
export function toolsAt({ actors, tools }: Pick<Situation, 'actors' | 'tools'>, path: string): readonly ToolSpec[] {
  const owner = actors.find((actor) => actor.path === path)?.snapshot;
  return owner !== undefined && isToolCall(owner) ? owner.context.tools : tools;
}

/** With what it may run. */
export const soundArguments: Law = {
  name: 'arguments',
  says: 'No tool runs with arguments that are cut off, do not match its schema or were rejected by its own check.',
  check: (situation) => checkOfNothing(situation) ?? soundRun(situation),
};

/** A check is asked of a tool that has none, or once too often: an effect too many in every recording. */
function checkOfNothing(situation: Situation): string | null {
  for (const one of situation.fresh) {
    if (!begins(one, 'checkArgs')) continue;
    const asked = textAt(one.effect.request, 'tool');
    const tools = toolsAt(situation, ownerOf(one.effect));
    if (tools.find(({ name }) => name === asked)?.checkedByCode !== true)
      return `a check was asked that '${asked}' does not have`;
    const before = situation.story.slice(0, situation.story.indexOf(one));
    const isOldNews = before.every((other) => other.kind !== 'told' || other.event.type !== 'tools.changed');
    if (isOldNews && callFacts(before, ownerOf(one.effect)).accepted !== null)
      return `arguments of '${asked}' were checked again that it had accepted`;
  }
  return null;
}

const soundRun = eachRun(({ spec, name, args, path, facts }, { actors }) => {
  if (spec === undefined) return null;
  const owner = actors.find((actor) => actor.path === path)?.snapshot;
  if (owner !== undefined && isToolCall(owner) && owner.context.request.unreadable !== null)
    return `'${name}' ran with arguments that could not be read or were cut off`;
  if (!fitsSchema(args, spec, facts)) return `'${name}' ran with arguments that do not fit its schema`;
  if (!spec.checkedByCode) return null;
  if (facts.rejected) return `'${name}' ran with arguments that its own check had rejected`;
  if (digest(facts.accepted) !== digest(args)) return `'${name}' ran with arguments that its own check has not seen`;
  return null;
});

/** Whether arguments fit a tool's schema. What its own check has made of those that do is the check's affair. */
export function fitsSchema(args: JsonObject, spec: ToolSpec, { accepted, checked }: CallFacts): boolean {
  const read = accepted !== null && isJsonObject(checked) ? checked : args;
  return checkArguments(read, spec.inputSchema).ok;
}

/** How often it may run. */
export const onceIsOnce: Law = {
  name: 'once',
  says: "A tool with effects 'once' is not run again after an unknown outcome, unless its step says so.",
  check: eachRun(({ spec, name, facts }) => {
    if (spec?.effects !== 'once' || facts.latest !== 'unknown') return null;
    const slot = spec.recovery.executionError;
    const steps = slot?.kind === 'steps' ? slot.steps : [];
    return steps.some((step) => step.kind === 'retry' && step.whenUnknown)
      ? null
      : `'${name}' ran again, and nobody knew whether it had taken effect`;
  }),
};

/** The loop guard, judged by what was run. */
export const noLoops: Law = {
  name: 'loops',
  says: 'The same call never runs maxConsecutiveRepeats times in a row, and a run ends as a loop only if there may be one.',
  check: ({ story, settings, output }) => {
    if (settings === null) return null;
    const limit = settings.maxConsecutiveRepeats;
    const calls: { readonly path: string; readonly asked: string | null; key: string }[] = [];
    for (const one of story) {
      // Alike are calls that the model asked for alike, whatever its schema or a repair has made of them.
      if (isBirth(one) && isOwn(one.actor)) {
        const asked = one.asked === undefined || one.asked.polling ? null : digest(one.asked.args);
        calls.push({ path: one.actor, asked, key: `never ran ${calls.length}` });
      }
      if (!begins(one, 'callTool') || !isOwn(ownerOf(one.effect))) continue;
      const call = calls.findLast(({ path }) => path === ownerOf(one.effect));
      if (call !== undefined && call.asked !== null) call.key = `${textAt(one.effect.request, 'tool')} ${call.asked}`;
    }
    if (output?.reason === 'loop' && calls.length < limit && !wasHandedOver(story))
      return `the run ended as a loop after ${calls.length} calls`;
    const latest = calls.slice(-limit);
    return latest.length === limit && latest.every(({ key }) => key === latest[0]?.key)
      ? `the same call ran ${limit} times in a row`
      : null;
  },
};
