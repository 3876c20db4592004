import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { usePage } from '../state/page-context.ts';
import { ForkDialog } from './ForkDialog.tsx';
import { HelpDialog } from './HelpDialog.tsx';
import { SendDialog } from './SendDialog.tsx';
import { SessionsDialog } from './SessionsDialog.tsx';

/** The dialog that is open, if any. */
export function Dialogs() {
  const { state } = usePage();
  const dialog = state.dialog.value;
  switch (dialog?.kind) {
    case 'help':
      return <HelpDialog />;
    case 'send':
      return <SendDialog />;
    case 'fork':
      return <ForkDialog entry={dialog.entry} outcome={dialog.outcome} />;
    case 'sessions':
      return <SessionsDialog />;
    case undefined:
      return null;
  }
}

/** What all dialogs have: they are modal, Escape closes them, and the focus comes back. */
export function DialogFrame({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const { state } = usePage();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const close = (): void => {
    state.dialog.value = null;
  };
  return (
    <dialog ref={dialog} aria-label={title} onClose={close}>
      <div class="dialog-head">
        <h2>{title}</h2>
        <span class="spring" />
        <button type="button" class="button quiet" onClick={close}>
          Close
        </button>
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
