import type { Page } from './page-context.ts';
import { showSession } from './walk.ts';

/** Opens a recording from disk: the server reads it, and it becomes one more session. */
export async function openFile({ state, desk }: Page, file: File): Promise<void> {
  state.dialog.value = null;
  const answer = await desk.open(file.name, await file.text());
  if (!answer.ok) {
    state.notice.value = { text: answer.message, tone: 'danger' };
    return;
  }
  if (answer.session !== null) showSession(state, answer.session);
}

/** Lets recordings be dropped anywhere on the page. Call once. */
export function acceptDrops(page: Page): void {
  const root = document.documentElement;
  addEventListener('dragover', (event) => {
    event.preventDefault();
    root.classList.toggle('dropping', page.desk.acts);
  });
  addEventListener('dragleave', () => root.classList.remove('dropping'));
  addEventListener('drop', (event) => {
    event.preventDefault();
    root.classList.remove('dropping');
    const [file] = event.dataTransfer?.files ?? [];
    if (file !== undefined && page.desk.acts) void openFile(page, file);
  });
}
