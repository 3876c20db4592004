import { isJsonObject } from '../../../../json/json.ts';
import type { CallStatus, TalkItem } from '../../model/talk/talk.ts';
import { durationText } from '../../model/time/time-scale.ts';
import type { Tone } from '../../model/tone.ts';
import { inertLine } from '../../model/inert-text.ts';
import { Approval } from './Approval.tsx';
import { EntryFrame } from './EntryFrame.tsx';
import { InertText } from '../InertText.tsx';
import { JsonTree } from '../JsonTree.tsx';

const TONES: { readonly [status in CallStatus]: Tone } = {
  waiting: 'wait',
  running: 'go',
  ok: 'done',
  failed: 'danger',
  denied: 'caution',
};
const WORDS: { readonly [status in CallStatus]: string } = {
  waiting: 'waits for you',
  running: 'running',
  ok: 'done',
  failed: 'failed',
  denied: 'denied',
};

/** A call of a tool: its arguments, what recovery did, its result; and the buttons while it waits for a person. */
export function CallEntry({
  item,
  now,
}: {
  readonly item: Extract<TalkItem, { kind: 'call' }>;
  readonly now: boolean;
}) {
  const { tool, args, status, result, durationMs, recovery, reason } = item;
  const head = (
    <>
      <b class="mono">{inertLine(tool, 80)}</b>
      <span class={TONES[status]}>{WORDS[status]}</span>
      {durationMs !== null && durationMs > 0 && <span class="dim">{durationText(durationMs)}</span>}
    </>
  );
  return (
    <EntryFrame item={item} now={now} tone={TONES[status]} head={head}>
      {isJsonObject(args) && Object.keys(args).length === 0 ? null : (
        <div class="payload">
          <span class="payload-name">arguments</span>
          <JsonTree value={args} />
        </div>
      )}
      {recovery.length > 0 && (
        <div class="chips">
          {recovery.map((step, index) => (
            <span key={index} class="chip">
              {inertLine(step, 40)}
            </span>
          ))}
        </div>
      )}
      {status === 'waiting' && <Approval item={item} />}
      {status === 'denied' && <InertText class="caution" text={reason} />}
      {result !== null && (
        <div class="payload">
          <span class="payload-name">{result.status === 'error' ? 'error' : 'result'}</span>
          {result.status === 'error' && typeof result.error === 'string' && Object.keys(result).length <= 2 ? (
            <div>
              <InertText class="danger" text={result.error} />
            </div>
          ) : (
            <JsonTree
              value={result.data !== undefined && Object.keys(result).length <= 2 ? result.data : defined(result)}
            />
          )}
        </div>
      )}
    </EntryFrame>
  );
}

/** The members of a result that are there. */
function defined(result: NonNullable<Extract<TalkItem, { kind: 'call' }>['result']>) {
  return Object.fromEntries(
    Object.entries(result).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}
