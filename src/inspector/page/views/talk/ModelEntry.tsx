import type { TalkItem } from '../../model/talk/talk.ts';
import { durationText } from '../../model/time/time-scale.ts';
import { EntryFrame } from './EntryFrame.tsx';
import { InertText } from '../InertText.tsx';

type ModelItem = Extract<TalkItem, { kind: 'model' }>;

/** A turn of the model: what it thinks, what streams in, what the parser made of it, and what it cost. */
export function ModelEntry({ item, now }: { readonly item: ModelItem; readonly now: boolean }) {
  const { replied, thought, goal, answer, raw, retries } = item;
  return (
    <EntryFrame
      item={item}
      now={now}
      tone={replied === null ? 'wait' : retries.length > 0 ? 'caution' : 'go'}
      head={<b>{replied === null ? 'Model is asked' : 'Model'}</b>}
    >
      {thought !== '' && <InertText class="thought" text={thought} />}
      {goal !== '' && (
        <p class="dim">
          Goal: <InertText text={goal} />
        </p>
      )}
      {replied === null && (answer !== '' || raw !== '') && (
        <p data-testid="streaming">
          <InertText text={answer !== '' ? answer : raw} />
          <span class="caret" />
        </p>
      )}
      {retries.map((retry) => (
        <p key={retry.attempt} class="caution">
          Attempt {retry.attempt} failed ({retry.code}): <InertText text={retry.message} />
        </p>
      ))}
      {replied !== null && <Replied item={item} replied={replied} />}
    </EntryFrame>
  );
}

function Replied({ item, replied }: { readonly item: ModelItem; readonly replied: NonNullable<ModelItem['replied']> }) {
  const { usage, stats, strategy, repairs, text, toolCalls, attempts } = replied;
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
                <span class="mono">{repair.kind}</span> <InertText text={repair.message} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {(text !== '' || toolCalls.length > 0) && (
        <details>
          <summary>Raw reply</summary>
          <div class="payload mono">
            <InertText text={text} />
            {toolCalls.map((call) => (
              <div key={call.id}>
                {call.name}
                <InertText text={`(${call.arguments})`} />
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
            {usage.inputTokens.toLocaleString('en')} in, {usage.outputTokens.toLocaleString('en')} out
          </span>
        )}
        {stats?.tokensPerSecond !== undefined && <span>{stats.tokensPerSecond.toFixed(0)} tokens/s</span>}
        {attempts > 1 && <span class="caution">{attempts} attempts</span>}
      </div>
    </>
  );
}
