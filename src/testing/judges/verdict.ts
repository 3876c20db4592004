import type { Evidence } from './evidence.ts';

/** What a matcher says: whether it holds, and a text for the case that this was not wanted. */
export interface Verdict {
  readonly pass: boolean;
  readonly message: () => string;
}

/** The way through the agent's states on one line. */
export function pathLine({ states }: Evidence): string {
  return `  ${states.join(' → ')}`;
}

/** How the run ended, with its text and error, as lines of a message. */
export function endingLines({ ending: { status, reason, result, error } }: Evidence): readonly string[] {
  const how = status === reason ? status : `${status} (${reason})`;
  const at = error === null ? '' : ` at step ${error.step}${error.tool === undefined ? '' : `, tool ${error.tool}`}`;
  return [
    `  ended as ${how}: ${JSON.stringify(shortened(result))}`,
    ...(error === null ? [] : [`  error: ${error.code}${at}: ${shortened(error.message)}`]),
  ];
}

const LONGEST = 200;

/** At most 200 characters, so that one long answer does not hide the message. */
export function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
