import { Button } from './Button.tsx';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { usePage } from '../../state/page-state.ts';

/** What all dialogs have: they are modal, Escape closes them, and the focus comes back. */
export function DialogFrame({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const { state } = usePage();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      // Outside of a modal dialog nothing can have the focus while it is there.
      requestAnimationFrame(() => {
        if (before instanceof HTMLElement) before.focus();
      });
    };
  }, []);
  const close = (): void => {
    state.dialog.value = null;
  };
  return (
    <dialog ref={dialog} aria-label={title} onClose={close}>
      <div class="dialog-head">
        <h2>{title}</h2>
        <span class="spring" />
        <Button look="quiet" onClick={close}>
          Close
        </Button>
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- What scrolls must be reachable by keyboard. */}
      <div class="dialog-body" tabIndex={0}>
        {children}
      </div>
    </dialog>
  );
}
