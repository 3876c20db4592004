import { useState } from 'preact/hooks';
import { inertText } from '../model/inert-text.ts';

/** How much of a text is shown at first, and how much more each time somebody asks. */
const FIRST = 1200;
const FURTHER = 20_000;

/** Foreign text, shown and never obeyed: text nodes only, its direction kept to itself, long ones cut. */
export function InertText({
  text,
  class: name = '',
  most = FIRST,
}: {
  readonly text: string;
  readonly class?: string;
  readonly most?: number;
}) {
  const [shown, show] = useState(most);
  const left = text.length - shown;
  return (
    <bdi class={`inert ${name}`} dir="auto">
      {inertText(text.slice(0, shown)).map((piece) => (piece.kind === 'mark' ? <mark>{piece.text}</mark> : piece.text))}
      {left > 0 && (
        <button type="button" class="more" onClick={() => show(shown + FURTHER)}>
          show more ({left.toLocaleString('en')} characters)
        </button>
      )}
    </bdi>
  );
}
