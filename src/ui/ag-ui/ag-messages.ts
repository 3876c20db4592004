import type { RunRecord } from '../../journal/format/record.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { type ChatRunsOptions, wholeRuns } from '../base/owned-runs.ts';
import { AgDocument } from './ag-document.ts';
import { AgUiFold } from './ag-ui-fold.ts';

/** The metadata that identifies the message that a run was begun with. */
export const AG_MESSAGE = 'agUiMessage';

/** The messages of a thread so far, in AG-UI's format, the oldest first; none if the owner has no such thread. */
export async function readAgMessages(
  journal: JournalStore,
  threadId: string,
  options: ChatRunsOptions = {},
): Promise<readonly object[]> {
  const messages: object[] = [];
  for await (const { head, groups } of wholeRuns(journal, threadId, options)) {
    const fold = new AgUiFold();
    const document = new AgDocument();
    for (const { events } of groups) for (const event of fold.feed(events)) document.take(event);
    messages.push(asked(head), ...document.messages);
  }
  return messages;
}

/** The message from a person that began a run. */
function asked({ runId, input, content, metadata }: RunRecord): object {
  const known = metadata[AG_MESSAGE];
  const id = typeof known === 'string' ? known : `asked:${runId}`;
  if (content === undefined) return { id, role: 'user', content: input };
  const parts = content.map((part) => {
    if (part.type === 'text') return part;
    const [, found, value] = /^data:([^;,]+);base64,(.*)$/s.exec(part.url) ?? [];
    const mimeType = part.type === 'file' ? part.mediaType : found;
    const named = mimeType === undefined ? {} : { mimeType };
    const source = value === undefined ? { type: 'url', value: part.url } : { type: 'data', value };
    const [, kind = 'document'] =
      part.type === 'image' ? ['', 'image'] : (/^(audio|video)\//.exec(part.mediaType) ?? []);
    return { type: kind, source: { ...source, ...named } };
  });
  return { id, role: 'user', content: parts };
}
