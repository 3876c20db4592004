import { endingInWords } from '../../../../machines/contract/run-result.ts';
import type { TalkItem } from '../../model/talk/talk.ts';
import { durationText } from '../../model/time/time-scale.ts';
import { CallEntry } from './CallEntry.tsx';
import { EntryFrame } from './EntryFrame.tsx';
import { InertText } from '../InertText.tsx';
import { ModelEntry } from './ModelEntry.tsx';
import { PlanEntry } from './PlanEntry.tsx';

/** One entry of the conversation. */
export function Entry({ item, now }: { readonly item: TalkItem; readonly now: boolean }) {
  switch (item.kind) {
    case 'turn':
      return (
        <div class="turn">
          Step {item.number} of {item.limit}
          {item.of === 'plan' ? ' · plan' : ''}
        </div>
      );
    case 'task':
      return (
        <EntryFrame item={item} now={now} tone="go" head={<b>Task</b>}>
          <InertText class="task" text={item.text} />
        </EntryFrame>
      );
    case 'model':
      return <ModelEntry item={item} now={now} />;
    case 'plan':
      return <PlanEntry item={item} now={now} />;
    case 'call':
      return <CallEntry item={item} now={now} />;
    case 'note':
      return (
        <EntryFrame item={item} now={now} tone={item.tone === 'info' ? 'go' : item.tone} head={null}>
          <InertText text={item.text} />
        </EntryFrame>
      );
    case 'answer':
      return (
        <EntryFrame item={item} now={now} tone="done" head={<b>Answer</b>}>
          <div class="answer-text">
            <InertText text={item.text} />
          </div>
        </EntryFrame>
      );
    case 'end': {
      const { success, status, reason, stepsTaken, durationMs } = item.result;
      return (
        <EntryFrame
          item={item}
          now={now}
          tone={success ? 'done' : status === 'failed' ? 'danger' : 'caution'}
          head={
            <b>
              {status}: {reason}
            </b>
          }
        >
          {!success && <InertText text={endingInWords(item.result)} />}
          <div class="meta">
            <span>{stepsTaken} steps</span>
            <span>{durationText(durationMs)}</span>
          </div>
        </EntryFrame>
      );
    }
  }
}
