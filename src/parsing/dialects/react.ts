import { makeCall } from '../calls-of.ts';
import type { Dialect } from './dialect.ts';

const ACTION = /(?:^|\n)[ \t*]*Action[ \t*]*:[ \t*]*`?([\p{L}_][\p{L}\p{N}_.-]{0,199})`?[ \t*]*(?:\n|$)/u;
const INPUT = /(?:^|\n)[ \t*]*Action[ \t]+Input[ \t*]*:/;
const THOUGHT = /(?:^|\n)[ \t*]*Thought[ \t*]*:[ \t]*([^\n]*)/;

/** ReAct: `Thought: …`, `Action: name`, `Action Input: {…}`; what the model made up as observation is not read. */
export const react: Dialect = {
  name: 'react',
  markers: ['Action:', 'Action :', '**Action'],
  read: (source) => {
    const action = ACTION.exec(source.text);
    const name = action?.[1];
    if (action === null || name === undefined) return undefined;
    const after = action.index + action[0].length - 1;
    const observation = source.next(after, '\nObservation', '\nThought');
    const thought = THOUGHT.exec(source.text.slice(0, action.index))?.[1]?.trim() ?? '';
    const input = INPUT.exec(source.text.slice(after, observation));
    const start = input === null ? observation : after + input.index + input[0].length;
    const found = source.value(start, observation);
    const raw = source.text
      .slice(start, observation)
      .replace(/^\s*```(?:json)?|```\s*$/g, '')
      .trim();
    const complete = found?.complete ?? true;
    return {
      calls: [makeCall(name, found?.value ?? raw, complete)],
      complete,
      repairs: found?.repairs ?? [],
      ...(thought === '' ? {} : { thought }),
    };
  },
};
