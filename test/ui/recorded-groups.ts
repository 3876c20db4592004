import { readFileSync, readdirSync } from 'node:fs';
import { type UIMessage, type UIMessageChunk, readUIMessageStream } from 'ai';
import { type Recording, lineNumber, readRecording } from '../../src/journal/format/recording.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { type EventGroup, GroupPlayer } from '../../src/ui/base/event-groups.ts';
import { sseText } from '../../src/ui/base/sse.ts';

/** The committed recordings, by name. */
export const RECORDINGS = readdirSync('test/recordings').filter((file) => file.endsWith('.jsonl'));

export function committed(file: string): Recording {
  return readRecording(readFileSync(`test/recordings/${file}`, 'utf8'));
}

/** All groups of a recording. */
export function groupsOf(recording: Recording): readonly EventGroup[] {
  const player = new GroupPlayer();
  const lines = [recording.head, ...recording.lines];
  return lines.flatMap((line, index) => {
    const number = index === 0 ? 1 : lineNumber(recording, index - 1);
    return player.feed({ number, line }) ?? [];
  });
}

/** What a protocol makes of groups, as server-sent events. */
export function streamIn(
  groups: readonly EventGroup[],
  fold: { feed(events: Iterable<RunEvent>): readonly object[] },
): string {
  return groups
    .map(({ position, events }) => ({ position, data: fold.feed(events) }))
    .filter(({ data }) => data.length > 0)
    .map(sseText)
    .join('');
}

/** The message that a client has after these chunks; `before`: what it had. */
export async function messageOf(
  chunks: readonly UIMessageChunk[],
  before?: UIMessage,
  onError: (error: unknown) => void = () => undefined,
): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let last = before;
  const message = before === undefined ? {} : { message: structuredClone(before) };
  for await (const one of readUIMessageStream({ ...message, stream, onError })) last = one;
  return last;
}
