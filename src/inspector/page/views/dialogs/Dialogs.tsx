import { usePage } from '../../state/page-context.ts';
import { ForkDialog } from './ForkDialog.tsx';
import { HelpDialog } from './HelpDialog.tsx';
import { later } from '../later.tsx';
import { SessionsDialog } from './SessionsDialog.tsx';

const SendDialog = later(async () => (await import('./SendDialog.tsx')).SendDialog);

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
