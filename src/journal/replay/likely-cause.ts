import { digest } from '../../json/digest.ts';
import type { RunRecord } from '../format/record.ts';
import { definitionHash } from '../format/run-input.ts';

/** What most likely made a replay leave its recording. */
export type DivergenceCause =
  | 'prompt-edited'
  | 'tool-edited'
  | 'toolset-changed'
  | 'code-changed'
  | 'conversation-changed'
  | 'reading-changed'
  | 'input-changed'
  | 'recording-cut'
  | 'unknown';

/** The causes in words. */
export const CAUSE_TEXTS: { readonly [cause in DivergenceCause]: string } = {
  'prompt-edited': 'the instructions or the system prompt were edited',
  'tool-edited': 'a tool was edited: its description, schema, policy or limits',
  'toolset-changed': 'a tool was added or removed',
  'code-changed': 'the machines of Signalbox changed: the recording was made by another version',
  'conversation-changed': 'the conversation came out differently: a text that Signalbox or a tool makes was changed',
  'reading-changed': 'the reading of replies changed in 0.2',
  'input-changed': 'the run was given another input',
  'recording-cut': 'the recording was cut, or its run was interrupted; resume or fork it to go on',
  unknown: 'the code or the options were changed',
};

/** What is known when a replay leaves its recording. */
interface Evidence {
  /** The head as recorded, and as this agent would have written it; null where no agent is there. */
  readonly recorded: RunRecord;
  readonly now: RunRecord | null;
  /** The first difference of the requests, beginning with its JSON Pointer; empty without one. */
  readonly difference: string;
  readonly atEnd: boolean;
  /** The last thing that came in was a model's reply, so that what was read in it decided. */
  readonly afterReply: boolean;
}

/** The version of the agent's machine whose replies were read by the rules of 0.1. */
const READ_AS_IN_0_1 = '1';

/** Tells the likely cause from where the requests differ and what changed of agent and machines. */
export function likelyCause({ recorded, now, difference, atEnd, afterReply }: Evidence): DivergenceCause {
  if (atEnd) return 'recording-cut';
  const readOtherwise = afterReply && recorded.machine.version === READ_AS_IN_0_1;
  const tools = toolsChanged(recorded, now);
  const otherMachines = recorded.machine.hash !== definitionHash();
  if (difference.startsWith('/tools') || difference.startsWith('/responseSchema')) return tools ?? 'tool-edited';
  if (difference.startsWith('/messages/0/')) {
    const edited = now === null || now.instructions !== recorded.instructions || now.promptByCode;
    if (edited) return 'prompt-edited';
    return tools ?? (otherMachines ? 'code-changed' : 'prompt-edited');
  }
  if (readOtherwise) return 'reading-changed';
  if (otherMachines) return 'code-changed';
  if (difference.startsWith('/messages/')) return 'conversation-changed';
  return tools ?? 'unknown';
}

/** The same of the first difference alone, where nothing else is known. */
export function causeOfDifference(difference: string): DivergenceCause {
  if (difference.startsWith('/tools') || difference.startsWith('/responseSchema')) return 'tool-edited';
  if (difference.startsWith('/messages/0/')) return 'prompt-edited';
  return difference.startsWith('/messages/') ? 'conversation-changed' : 'unknown';
}

function toolsChanged(recorded: RunRecord, now: RunRecord | null): 'tool-edited' | 'toolset-changed' | null {
  if (now === null) return null;
  const names = (head: RunRecord): string => JSON.stringify(head.toolset.tools.map(({ name }) => name).toSorted());
  if (names(recorded) !== names(now)) return 'toolset-changed';
  const specs = (head: RunRecord): string => digest(JSON.parse(JSON.stringify(head.toolset.tools)));
  return specs(recorded) === specs(now) ? null : 'tool-edited';
}
