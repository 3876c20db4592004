import { useEffect } from 'preact/hooks';
import { usePage } from '../state/page-context.ts';

const SHOWN_MS = 5000;

/** Says what became of an order, and says it aloud as well. Goes by itself. */
export function Toast() {
  const { state } = usePage();
  const { text, tone } = state.notice.value;
  useEffect(() => {
    if (text === '') return;
    const timer = setTimeout(() => (state.notice.value = { text: '', tone: 'info' }), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div role="status" aria-live="polite">
      {text !== '' && (
        <p class="toast" data-tone={tone}>
          {text}
        </p>
      )}
    </div>
  );
}
