import { useMemo, useState } from 'preact/hooks';
import type { Json } from '../../../../json/json.ts';
import type { StepDetail, StepInfo } from '../../../frames/protocol.ts';
import { innermost } from '../../model/actor-state.ts';
import { type Comparison, pairAt } from '../../model/compare/compare-runs.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { jsonDiff, LENIENT, NOT_COUNTED, type Difference } from '../../model/compare/json-diff.ts';
import { durationText } from '../../model/time-scale.ts';
import type { SessionModel } from '../../model/page-model.ts';
import { usePage } from '../../state/page-state.ts';
import { Changes, NotKnown, Section, useDetail } from '../parts/StepDetails.tsx';
import { JsonTree, EscapedText } from '../parts/Values.tsx';
import { textDifference } from '../../model/compare/align.ts';

/** Two runs that are compared, and which line of it is meant. */
export interface ComparePairProps {
  readonly left: SessionModel;
  readonly right: SessionModel;
  readonly comparison: Comparison;
  readonly index: number;
}

/** Two steps that stand beside each other: what came in with each, and how the memories of their actors differ after it. */
export function ComparePair({ left, right, comparison, index }: ComparePairProps) {
  const { desk } = usePage();
  const pair = pairAt(comparison, index);
  const one = stepAt(left, pair.left);
  const other = stepAt(right, pair.right);
  const leftDetail = useDetail(left.info.id, one);
  const rightDetail = useDetail(right.info.id, other);
  const missing = (one !== undefined && leftDetail === null) || (other !== undefined && rightDetail === null);
  const heads = [
    { side: 'A', step: one, at: pair.left, run: left, roles: comparison.roles.left },
    { side: 'B', step: other, at: pair.right, run: right, roles: comparison.roles.right },
  ] as const;
  return (
    <div class="scroll pair" data-testid="pair">
      <div class="pair-heads">
        {heads.map(({ side, step, at, run, roles }) =>
          step === undefined || at === null ? (
            <NoTransition key={side} side={side} next={stepAt(run, pair.next)} at={pair.next} />
          ) : (
            <Head key={side} side={side} step={step} at={at} role={roles[at]} instead={pair.without === side} />
          ),
        )}
      </div>
      {missing && (
        <p class="dim pad">{desk.acts ? 'Reading these steps…' : 'Nothing more is known about these steps.'}</p>
      )}
      {leftDetail !== null && rightDetail !== null && <Both left={leftDetail} right={rightDetail} />}
      {leftDetail !== null && other === undefined && <Alone detail={leftDetail} />}
      {rightDetail !== null && one === undefined && <Alone detail={rightDetail} />}
    </div>
  );
}

function stepAt({ steps }: SessionModel, position: number | null): StepInfo | undefined {
  return position === null ? undefined : steps[position];
}

interface HeadProps {
  readonly side: 'A' | 'B';
  readonly step: StepInfo;
  readonly at: number;
  readonly role: string | undefined;
  /** Another transition: what this side did in the place of the other's. */
  readonly instead: boolean;
}

function Head({ side, step, at, role = '', instead }: HeadProps) {
  const from = innermost(step.from).join(' + ');
  return (
    <div class="pair-head" data-side={side} data-instead={instead}>
      <p>
        <SideMark side={side} /> {instead && <span class="dim">instead</span>} <b>{escapedLine(step.event, 60)}</b>
        <span class="dim">
          transition {at + 1} · {escapedLine(role.slice(role.lastIndexOf('/') + 1), 40)}
          <span class="time"> · {durationText(step.at)}</span>
        </span>
      </p>
      <p>
        {from !== '' && <span class="dim from">{escapedLine(from, 80)} →</span>}{' '}
        {escapedLine(innermost(step.to).join(' + '), 80)}
      </p>
    </div>
  );
}

interface NoTransitionProps {
  readonly side: 'A' | 'B';
  readonly next: StepInfo | undefined;
  readonly at: number | null;
}

/** Shows that one side has no such transition, and where it continues. */
function NoTransition({ side, next, at }: NoTransitionProps) {
  return (
    <div class="pair-head" data-side={side}>
      <p>
        <SideMark side={side} /> <span class="dim">has no such transition</span>
      </p>
      <p class="dim">
        {next === undefined || at === null
          ? 'and was over before it.'
          : `continues with transition ${at + 1}: ${escapedLine(next.event, 60)} → ${escapedLine(innermost(next.to).join(' + '), 80)}`}
      </p>
    </div>
  );
}

function Both({ left, right }: { readonly left: StepDetail; readonly right: StepDetail }) {
  return (
    <>
      <Compared title="Event" left={left.event} right={right.event} />
      {left.unknown.includes('after') || right.unknown.includes('after') ? (
        <Section title="Context after it">
          <NotKnown />
        </Section>
      ) : (
        <Compared title="Context after it" left={left.after} right={right.after} />
      )}
    </>
  );
}

interface ComparedProps {
  readonly title: string;
  readonly left: Json;
  readonly right: Json;
}

const MOST = 120;

function Compared({ title, left, right }: ComparedProps) {
  const counted = useMemo(() => jsonDiff(left, right, MOST, LENIENT), [left, right]);
  const aside = useMemo(() => jsonDiff(left, right, MOST).length - counted.length, [left, right]);
  const [all, showAll] = useState(false);
  const shown = useMemo(() => (all ? jsonDiff(left, right, MOST) : counted), [all, counted]);
  return (
    <Section title={title}>
      {shown.length > 0 ? (
        <PairDifferences differences={shown} />
      ) : (
        <p class="pair-same">{aside > 0 ? 'No relevant difference.' : 'The same in both.'}</p>
      )}
      {shown.length >= MOST && <p class="pair-note">There are more differences than are shown here.</p>}
      {aside > 0 && (
        <p class="pair-note">
          {all ? 'Shown with' : 'Not counted:'} {NOT_COUNTED}.{' '}
          <button type="button" class="more" aria-pressed={all} onClick={() => showAll(!all)}>
            {all ? 'leave them out' : `show ${aside}`}
          </button>
        </p>
      )}
    </Section>
  );
}

/** A step that the other run has not: what came in with it, and what it changed. */
function Alone({ detail }: { readonly detail: StepDetail }) {
  return (
    <>
      <Section title="Event">
        <JsonTree value={detail.event} open={2} />
      </Section>
      <Section title="What it changed">
        {detail.unknown.length > 0 ? <NotKnown /> : <Changes differences={jsonDiff(detail.before, detail.after)} />}
      </Section>
    </>
  );
}

/** How much of what two texts have in common is shown before and after what differs. */
const AROUND = 48;

/** Differences of two values, each with both sides beside each other. */
function PairDifferences({ differences }: { readonly differences: readonly Difference[] }) {
  return (
    <ul class="pair-list">
      {differences.map((one) => {
        const { before, after } = sidesOf(one);
        return (
          <li key={one.path}>
            <span class="pair-path">{escapedLine(one.path === '' ? 'all of it' : one.path, 160)}</span>
            <Side side="A" value={before} other={after} />
            <Side side="B" value={after} other={before} />
          </li>
        );
      })}
    </ul>
  );
}

interface SideProps {
  readonly side: 'A' | 'B';
  readonly value: Json | undefined;
  readonly other: Json | undefined;
}

function Side({ side, value, other }: SideProps) {
  return (
    <div class="pair-side" data-side={side}>
      {value === undefined ? (
        <span class="pair-none">not there</span>
      ) : typeof value === 'string' && typeof other === 'string' ? (
        <Text text={value} other={other} />
      ) : (
        <JsonTree value={value} open={2} />
      )}
    </div>
  );
}

/** A text in which the part that the other one lacks is marked. */
function Text({ text, other }: { readonly text: string; readonly other: string }) {
  const { head, left, tail } = textDifference(text, other);
  if (left.length === text.length) return <EscapedText class="string" text={text} most={600} />;
  return (
    <span class="string">
      <EscapedText text={head.length > AROUND ? `…${head.slice(-AROUND)}` : head} />
      {left !== '' && (
        <b class="pair-mark">
          <EscapedText text={left} most={600} />
        </b>
      )}
      <EscapedText text={tail.length > AROUND ? `${tail.slice(0, AROUND)}…` : tail} />
    </span>
  );
}

function sidesOf(one: Difference): { readonly before: Json | undefined; readonly after: Json | undefined } {
  switch (one.kind) {
    case 'added':
      return { before: undefined, after: one.after };
    case 'removed':
      return { before: one.before, after: undefined };
    case 'changed':
      return one;
  }
}

/** The letter of one of two runs that are compared: A is the one in sight, B the other. */
export function SideMark({ side }: { readonly side: 'A' | 'B' }) {
  return (
    <b class="side" data-side={side}>
      {side}
    </b>
  );
}
