import type { ComponentChildren } from 'preact';
import type { TalkItem, PlannedStep } from '../../model/talk.ts';
import { durationText } from '../../model/time-scale.ts';
import type { Tone } from '../../../frames/protocol.ts';
import { usePage } from '../../state/page-state.ts';
import { goTo } from '../../state/walk.ts';
import { Icon, Lamp, Button } from '../parts/Button.tsx';
import { forkOffer, outcomeAt } from '../../state/orders.ts';
import type { ForkLeaf } from '../../state/fork-draft.ts';
import { later } from '../parts/later.tsx';
import { EscapedText } from '../parts/Values.tsx';
import { escapedLine } from '../../model/escaped-text.ts';

interface EntryFrameProps {
  readonly item: TalkItem;
  readonly now: boolean;
  readonly tone: Tone;
  readonly head: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What all entries have: their sign, and the time, which leads to their step. */
export function EntryFrame({ item, now, tone, head, children }: EntryFrameProps) {
  const { state } = usePage();
  return (
    <article class={now ? 'entry now' : 'entry'} data-kind={item.kind} {...depthOf(item)}>
      <span class="sign">
        <Lamp tone={tone} />
      </span>
      <div>
        <div class="entry-head">
          <SpeakerName item={item} />
          {head}
          <button type="button" class="at" title="Go to this step" onClick={() => goTo(state, item.step)}>
            {durationText(item.at)}
          </button>
        </div>
        {children}
      </div>
    </article>
  );
}

/** How far an entry is indented: agents stand in agents up to eight deep. */
export function depthOf({ by }: Pick<TalkItem, 'by'>) {
  const depth = Math.min(8, by?.depth ?? 0);
  return { 'data-depth': depth, style: { '--depth': depth } };
}

/** The child agent that an entry is of, which leads to its chart. */
function SpeakerName({ item: { by, step } }: { readonly item: TalkItem }) {
  const { state } = usePage();
  if (by === null) return null;
  const title = `Agent ${by.name}${by.call === null ? '' : `, in call ${by.call}`}: show its chart here`;
  const show = (): void => {
    goTo(state, step);
    state.focus.value = by.path;
  };
  return (
    <button type="button" class="speaker cut" title={escapedLine(title, 200)} onClick={show}>
      {escapedLine(by.name, 40)}
    </button>
  );
}

type ModelItem = Extract<TalkItem, { kind: 'model' }>;

/** A turn of the model: what it thinks, what streams in, what the parser made of it, and what it cost. */
export function ModelEntry({ item, now }: { readonly item: ModelItem; readonly now: boolean }) {
  const { replied, thought, goal, answer, raw, retries } = item;
  const isOver = replied === null && item.endedAt !== null;
  return (
    <EntryFrame
      item={item}
      now={now}
      tone={retries.length > 0 ? 'caution' : 'model'}
      head={<b>{isOver ? 'Model did not finish' : replied === null ? 'Model is asked' : 'Model'}</b>}
    >
      {thought !== '' && <EscapedText grows={replied === null} class="thought" text={thought} />}
      {goal !== '' && (
        <p class="dim">
          Goal: <EscapedText text={goal} />
        </p>
      )}
      {replied === null && (answer !== '' || raw !== '') && (
        <p data-testid="streaming">
          <EscapedText grows text={answer !== '' ? answer : raw} />
          {!isOver && <span class="caret" />}
        </p>
      )}
      {retries.map((retry) => (
        <p key={retry.attempt} class="caution">
          Attempt {retry.attempt} failed ({retry.code}): <EscapedText text={retry.message} />
          {retry.next !== undefined && (
            <>
              {' '}
              Next is <b class="mono">{escapedLine(retry.next, 80)}</b>.
            </>
          )}
        </p>
      ))}
      {replied !== null && <Replied item={item} replied={replied} />}
    </EntryFrame>
  );
}

const ForkForm = later(async () => (await import('../forms/ForkForms.tsx')).ForkForm);

interface OtherOutcomeProps {
  /** The position at which the outcome came. */
  readonly position: number | null;
  readonly leaf: ForkLeaf;
  readonly label: string;
}

/** Forks the run at this entry with another outcome, where its agent lets one do that. */
export function OtherOutcome({ position, leaf, label }: OtherOutcomeProps) {
  const { state, desk } = usePage();
  const session = state.session.value;
  const outcome = session === null ? null : outcomeAt(session, position, leaf);
  if (session === null || outcome === null) return null;
  const { entry } = outcome;
  if (forkOffer(session.info, entry, desk.acts).kind !== 'offered') return null;
  const place = { session: session.info.id, entry };
  const draft = state.fork.value;
  if (draft?.session === place.session && draft.entry === entry) return <ForkForm draft={draft} />;
  const open = async (): Promise<void> => {
    const { forkDraft } = await import('../../state/fork-draft.ts');
    state.fork.value = forkDraft(leaf, place, outcome.value);
  };
  return (
    <Button look="quiet other" data-fork={entry} onClick={() => void open()}>
      <Icon name="fork" /> {label}
    </Button>
  );
}

function share(tokens: number | undefined, what: string): string {
  return tokens === undefined || tokens === 0 ? '' : ` (${tokens.toLocaleString('en')} ${what})`;
}

function Replied({ item, replied }: { readonly item: ModelItem; readonly replied: NonNullable<ModelItem['replied']> }) {
  const { usage, stats, strategy, repairs, text, toolCalls, attempts, model } = replied;
  return (
    <>
      {repairs.length > 0 && (
        <details open={repairs.some(({ cost }) => cost > 0)}>
          <summary>
            Read as {strategy}, {repairs.length} {repairs.length === 1 ? 'repair' : 'repairs'}
          </summary>
          <ul>
            {repairs.map((repair, index) => (
              <li key={index} class="dim">
                <span class="mono">{repair.kind}</span> <EscapedText text={repair.message} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {(text !== '' || toolCalls.length > 0) && (
        <details>
          <summary>Raw reply</summary>
          <div class="payload mono">
            <EscapedText text={text} />
            {toolCalls.map((call) => (
              <div key={call.id}>
                {call.name}
                <EscapedText text={`(${call.arguments})`} />
              </div>
            ))}
          </div>
        </details>
      )}
      <div class="meta">
        {repairs.length === 0 && <span>read as {strategy}</span>}
        {item.endedAt !== null && <span>{durationText(item.endedAt - item.at)}</span>}
        {usage !== null && (
          <span>
            {usage.inputTokens.toLocaleString('en')} in{share(usage.cachedInputTokens, 'cached')},{' '}
            {usage.outputTokens.toLocaleString('en')} out{share(usage.reasoningTokens, 'reasoning')}
          </span>
        )}
        {stats?.tokensPerSecond !== undefined && <span>{stats.tokensPerSecond.toFixed(0)} tokens/s</span>}
        {attempts > 1 && <span class="caution">{attempts} attempts</span>}
        {model !== undefined && <span class="mono">{escapedLine(model, 60)}</span>}
      </div>
      <OtherOutcome position={item.replyStep} leaf="callLlm" label="Reply differently…" />
    </>
  );
}

const TONES: { readonly [status in PlannedStep['status']]: Tone } = {
  waiting: 'wait',
  running: 'tool',
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
            <span class="mono">{escapedLine(step.tool, 60)}</span>
            <span class="args dim cut">{escapedLine(JSON.stringify(step.args), 160)}</span>
            <span class="sr">{step.status}</span>
          </li>
        ))}
      </ol>
    </EntryFrame>
  );
}
