import type { PlanStep, Reply, ToolCallRequest } from '../../parsing/index.ts';
import type { Reading } from './parse-reading.ts';
import type { Row } from './parse-row.ts';

/** What was recovered from a reply, and how. */
export function replyRows({
  recovered,
  text,
  toolsKnown,
  usable,
}: Extract<Reading, { kind: 'reply' }>): readonly Row[] {
  const { strategy, dialect, thought, goal, answer, calls, plan = [], planError, ambiguous = [] } = recovered;
  return [
    { label: 'Strategy', text: dialect === undefined ? strategy : `${strategy} (${dialect})` },
    completeRow(recovered.complete),
    ...given('Thought', thought),
    ...given('Goal', goal),
    ...(answer === undefined ? [] : [{ label: 'Answer', text: answer }]),
    ...calls.flatMap(callRows),
    ...plan.map(stepRow),
    ...(planError === undefined ? [] : [{ label: 'No plan', text: planError, style: 'red' } as const]),
    ...ambiguous.map((value) => ({ label: 'Either', text: JSON.stringify(value), style: 'yellow' }) as const),
    ...(usable ? [] : [nothingRow(recovered, text)]),
    ...(strategy === 'text' && !toolsKnown && /[{<[]/.test(text) ? [HINT] : []),
  ];
}

/** Says whether a text was there to its end. */
export function completeRow(complete: boolean): Row {
  return complete
    ? { label: 'Complete', text: 'yes' }
    : { label: 'Complete', text: 'no, the text was cut off', style: 'yellow' };
}

const HINT: Row = {
  label: 'Hint',
  text: "If this is a call in a model's own format, name the tools with --tools.",
};

function given(label: string, text: string): readonly Row[] {
  return text === '' ? [] : [{ label, text }];
}

function callRows({ name, args, complete, issues = [] }: ToolCallRequest): readonly Row[] {
  return [
    { label: 'Call', text: `${name} ${JSON.stringify(args)}${complete ? '' : CUT}` },
    ...issues.map(({ message }) => ({ label: 'Issue', text: message, style: 'red' }) as const),
  ];
}

const CUT = ' (cut off: is never run)';

function stepRow({ tool, args, complete }: PlanStep, index: number): Row {
  return { label: `Step ${index + 1}`, text: `${tool} ${JSON.stringify(args)}${complete ? '' : CUT}` };
}

function nothingRow({ ambiguous }: Reply, text: string): Row {
  return { label: 'Nothing', text: whyNothing(ambiguous !== undefined, text.trim() === ''), style: 'red' };
}

function whyNothing(isAmbiguous: boolean, isEmpty: boolean): string {
  if (isEmpty) return 'the text is empty';
  return isAmbiguous ? 'several readings are equally good, so none is taken' : 'no answer, no call and no plan';
}
