import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { copyText } from '../../state/orders.ts';
import { usePage } from '../../state/page-state.ts';
import { IconButton } from './Button.tsx';
import { escapedText, escapedLine } from '../../model/escaped-text.ts';
import { type Json, type JsonObject, isJsonObject } from '../../../../json/json.ts';

/** How much of a text is shown at first, and how much more on each request. */
const FIRST = 1200;
const FURTHER = 20_000;

interface EscapedProps {
  readonly text: string;
  readonly class?: string;
  readonly most?: number;
  /** What is cut is its beginning, in leaps, so that lines stand still. */
  readonly grows?: boolean;
}

/** Foreign text, shown and never obeyed: text nodes only, its direction kept to itself, long ones cut. */
export function EscapedText({ text, class: name = '', most = FIRST, grows = false }: EscapedProps) {
  const [shown, show] = useState(most);
  const beyond = Math.max(0, text.length - shown);
  const left = grows ? beyond - (beyond % (FIRST / 2)) : beyond;
  const more = left > 0 && (
    <button type="button" class="more" onClick={() => show(shown + FURTHER)}>
      show more ({left.toLocaleString('en')} characters)
    </button>
  );
  return (
    <bdi class={`escaped ${name}`} dir="auto">
      {grows && more}
      {escapedText(grows ? text.slice(left) : text.slice(0, shown)).map((piece) =>
        piece.kind === 'mark' ? <mark>{piece.text}</mark> : piece.text,
      )}
      {!grows && more}
    </bdi>
  );
}

/** A value as a tree. What is deeper than `open` levels, or long, is shown on request; where all are open, only what is huge. */
export function JsonTree({ value, open = 2 }: { readonly value: Json; readonly open?: number }) {
  return (
    <div class="copied">
      <ul class="json">
        {isSmall(value) ? (
          <Entries entries={Object.entries(value)} open={open} />
        ) : (
          <li>
            <Value value={value} open={open} />
          </li>
        )}
      </ul>
      <CopyButton text={() => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))} />
    </div>
  );
}

/** What was given or came back, on a ground of its own, with what it is called. */
export function Payload({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div class="payload">
      <span class="payload-name">{name}</span>
      {children}
    </div>
  );
}

/** Copies a value whole, also what is not unfolded. It is seen when one is near. */
export function CopyButton({ text }: { readonly text: () => string }) {
  const { state } = usePage();
  return (
    <IconButton
      icon="copy"
      label="Copy this value"
      onClick={(event) => {
        // It may stand in what is pressed for something else.
        event.stopPropagation();
        void copyText(state, text());
      }}
    />
  );
}

function Value({ value, open }: { readonly value: Json; readonly open: number }) {
  const most = open === Infinity ? FURTHER : 600;
  if (typeof value === 'string') return <EscapedText class="string" text={value} most={most} />;
  if (typeof value === 'number') return <span class="number">{String(value)}</span>;
  if (value === null || typeof value === 'boolean') return <span class="word">{String(value)}</span>;
  const list = !isJsonObject(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return <span class="dim">{list ? '[ ]' : '{ }'}</span>;
  return <Branch entries={entries} list={list} open={open} />;
}

interface BranchProps {
  readonly entries: readonly (readonly [string, Json])[];
  readonly list: boolean;
  readonly open: number;
}

function Branch({ entries, list, open }: BranchProps) {
  const [expanded, expand] = useState(open > 0);
  const [shown, show] = useState(open === Infinity ? 1000 : 40);
  const size = `${entries.length} ${list ? 'items' : entries.length === 1 ? 'key' : 'keys'}`;
  return (
    <>
      <button type="button" class="fold" aria-expanded={expanded} onClick={() => expand(!expanded)}>
        {expanded ? '▾' : '▸'} {list ? `[${size}]` : `{${size}}`}
      </button>
      {expanded && (
        <ul>
          <Entries entries={entries.slice(0, shown)} open={open} />
          {entries.length > shown && (
            <li>
              <button type="button" class="more" onClick={() => show(shown + 400)}>
                show more ({entries.length - shown})
              </button>
            </li>
          )}
        </ul>
      )}
    </>
  );
}

function Entries({ entries, open }: { readonly entries: readonly (readonly [string, Json])[]; readonly open: number }) {
  const most = open === Infinity ? FURTHER : 120;
  return (
    <>
      {entries.map(([key, inner]) => (
        <li key={key}>
          <span class="key">{escapedLine(quoted(key), most)}</span>
          <span class="dim">: </span>
          <Value value={inner} open={open - 1} />
        </li>
      ))}
    </>
  );
}

/** A name as it is, or in quotes where it could be taken for more than a name. */
const quoted = (key: string): string => (/^[\p{L}\p{N}_.$@/-]+$/u.test(key) ? key : JSON.stringify(key));

/** An object of few members needs no heading. */
function isSmall(value: Json): value is JsonObject {
  const size = isJsonObject(value) ? Object.keys(value).length : 0;
  return size > 0 && size <= 12;
}
