import type { Recording } from '../../journal/format/recording.ts';
import { layOut } from '../../output/console/layout.ts';
import { painter } from '../../output/console/paint.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import { stepsOf } from './recording-steps.ts';

/** How much of a text is shown unless all is asked for. */
const LINES = 3;
const CHARS = 300;
const LABEL = 12;
/** What is cut off is worth more than the words that say so. */
const WORTH_CUTTING = 60;

/** A recording as people read it: what was asked, then step by step what happened, with lines and times. */
export function recordingText(
  recording: Recording,
  terminal: Terminal,
  { full = false }: { readonly full?: boolean } = {},
): string {
  const { head } = recording;
  const paint = painter(terminal.color);
  const row = (label: string, text: string): readonly string[] =>
    layOut({ indent: 0, label, labelStyle: 'dim', labelWidth: LABEL, ...cut(text, full) }, terminal, paint);
  const steps = stepsOf(recording);
  const places = steps.map(({ line, at }) => `${String(line).padStart(4)} ${seconds(at).padStart(8)}  `);
  const what = Math.max(0, ...steps.map((step) => step.what.length)) + 2;
  return [
    ...row('Run', head.runId),
    ...row('Agent', head.agent),
    ...row('Began', head.at),
    ...row('Asked', head.input),
    ...row('Tools', head.toolset.tools.map(({ name }) => name).join(', ') || 'none'),
    ...(Object.keys(head.metadata).length === 0 ? [] : row('Metadata', JSON.stringify(head.metadata))),
    ...(head.warnings.length === 0 ? [] : row('Warnings', head.warnings.join('\n'))),
    '',
    paint('dim', `line     time  what happened`),
    ...steps.flatMap((step, index) =>
      layOut(
        {
          indent: 0,
          label: `${places[index] ?? ''}${step.what.padEnd(what)}`,
          labelStyle: step.style ?? 'bold',
          ...cut(step.text, full),
        },
        terminal,
        paint,
      ),
    ),
    ...(recording.lines.some(({ t }) => t === 'end') ? [] : ['', paint('yellow', 'It has not ended.')]),
  ].join('\n');
}

/** A line of a file that is no terminal has no end of its own. */
function cut(text: string, full: boolean): { readonly text: string; readonly maxLines?: number } {
  if (full) return { text };
  return {
    text:
      text.length > CHARS + WORTH_CUTTING ? `${text.slice(0, CHARS)} … ${text.length - CHARS} more characters` : text,
    maxLines: LINES,
  };
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}
