import type { PlannedStep, TalkItem } from '../../model/talk/talk.ts';
import type { Tone } from '../../model/tone.ts';
import { inertLine } from '../../model/inert-text.ts';
import { EntryFrame } from './EntryFrame.tsx';
import { Lamp } from '../Icon.tsx';

const TONES: { readonly [status in PlannedStep['status']]: Tone } = {
  waiting: 'wait',
  running: 'go',
  done: 'done',
  failed: 'danger',
  dropped: 'caution',
};

/** A plan, its steps and how far it has come. */
export function PlanEntry({
  item,
  now,
}: {
  readonly item: Extract<TalkItem, { kind: 'plan' }>;
  readonly now: boolean;
}) {
  const done = item.steps.filter(({ status }) => status === 'done').length;
  const failed = item.steps.some(({ status }) => status === 'failed' || status === 'dropped');
  const head = (
    <b>
      Plan {item.iteration}: {done} of {item.steps.length} done
    </b>
  );
  return (
    <EntryFrame
      item={item}
      now={now}
      tone={failed ? 'caution' : done === item.steps.length ? 'done' : 'go'}
      head={head}
    >
      <div class="progress" role="img" aria-label={`${done} of ${item.steps.length} steps done`}>
        <span style={{ width: `${(100 * done) / Math.max(1, item.steps.length)}%` }} />
      </div>
      <ol class="plan-steps">
        {item.steps.map((step, index) => (
          <li key={index} data-status={step.status}>
            <Lamp tone={TONES[step.status]} size={12} />
            <span class="mono">{inertLine(step.tool, 60)}</span>
            <span class="args">{inertLine(JSON.stringify(step.args), 160)}</span>
            <span class="sr">{step.status}</span>
          </li>
        ))}
      </ol>
    </EntryFrame>
  );
}
