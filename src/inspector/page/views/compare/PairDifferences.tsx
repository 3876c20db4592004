import type { Json } from '../../../../json/json.ts';
import { inertLine } from '../../model/inert-text.ts';
import type { Difference } from '../../model/compare/json-diff.ts';
import { textDifference } from '../../model/compare/text-difference.ts';
import { InertText } from '../InertText.tsx';
import { JsonTree } from '../JsonTree.tsx';

/** How much of what two texts have in common is shown before and after what differs. */
const AROUND = 48;

/** Differences of two values, each with both sides beside each other. */
export function PairDifferences({ differences }: { readonly differences: readonly Difference[] }) {
  return (
    <ul class="pair-list">
      {differences.map((one) => {
        const { before, after } = sidesOf(one);
        return (
          <li key={one.path}>
            <span class="pair-path">{inertLine(one.path === '' ? 'all of it' : one.path, 160)}</span>
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

/** A text of which the part that the other one has not is marked. */
function Text({ text, other }: { readonly text: string; readonly other: string }) {
  const { head, left, tail } = textDifference(text, other);
  if (left.length === text.length) return <InertText class="string" text={text} most={600} />;
  return (
    <span class="string">
      <InertText text={head.length > AROUND ? `…${head.slice(-AROUND)}` : head} />
      {left !== '' && (
        <b class="pair-mark">
          <InertText text={left} most={600} />
        </b>
      )}
      <InertText text={tail.length > AROUND ? `${tail.slice(0, AROUND)}…` : tail} />
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
