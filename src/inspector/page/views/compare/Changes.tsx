import type { Json } from '../../../../json/json.ts';
import { inertLine } from '../../model/inert-text.ts';
import type { Difference } from '../../model/compare/json-diff.ts';
import { JsonTree } from '../JsonTree.tsx';

const SIGNS = { added: '+', removed: '−', changed: '±' } as const;

/** What a step changed in the memory of its actor. */
export function Changes({ differences }: { readonly differences: readonly Difference[] }) {
  if (differences.length === 0) return <p class="dim">Nothing in its memory.</p>;
  return (
    <ul class="diff" data-testid="changes">
      {differences.map((one) => (
        <li key={one.path}>
          <span class={one.kind === 'added' ? 'done' : one.kind === 'removed' ? 'danger' : 'caution'} title={one.kind}>
            {SIGNS[one.kind]}
          </span>
          <div>
            <b>{inertLine(one.path, 160)}</b>{' '}
            {one.kind !== 'added' && isShort(one.before) && (
              <span class="was">{inertLine(JSON.stringify(one.before), 80)}</span>
            )}{' '}
            {one.kind !== 'removed' && <JsonTree value={one.after} open={0} />}
          </div>
        </li>
      ))}
    </ul>
  );
}

function isShort(value: Json): boolean {
  return typeof value !== 'object' || value === null;
}
