import type { Issue } from '../../parsing/index.ts';
import type { Reading } from './parse-reading.ts';
import { completeRow } from './parse-reply-rows.ts';
import type { Row } from './parse-row.ts';

/** The value that a schema asked for, or why there is none. */
export function valueRows({ recovered, text }: Extract<Reading, { kind: 'value' }>): readonly Row[] {
  if (recovered.ok) {
    return [completeRow(recovered.complete), { label: 'Value', text: JSON.stringify(recovered.value, null, 2) }];
  }
  const nothing = text.trim() === '' ? 'the text is empty' : 'no value that fits the schema';
  return [{ label: 'Nothing', text: nothing, style: 'red' }, ...recovered.issues.map(issueRow)];
}

function issueRow({ path, message }: Issue): Row {
  return { label: 'Issue', text: path === '' ? message : `${path}: ${message}` };
}
