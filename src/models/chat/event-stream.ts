/** One server-sent event: its payload, already parsed where it is JSON. */
export type StreamEvent =
  | { readonly kind: 'json'; readonly value: unknown; readonly isError: boolean }
  | { readonly kind: 'done' }
  | { readonly kind: 'garbage'; readonly text: string };

/** Takes a stream's text in pieces of any size. */
export interface EventReader {
  feed(text: string): void;
  /** Says that no more will come: what is pending is given out. */
  end(): void;
}

/**
 * Reads server-sent events. Every `data:` line that is whole JSON is an event at once, so servers that leave out the
 * blank lines are understood too; a payload spread over several lines is put together.
 */
export function createEventReader(onEvent: (event: StreamEvent) => void): EventReader {
  let unended: string[] = [];
  let pending: string[] = [];
  let isError = false;

  const settlePending = () => {
    const text = pending.join('\n');
    pending = [];
    if (text !== '') {
      const value = parsed(text);
      onEvent(value === undefined ? { kind: 'garbage', text } : { kind: 'json', value, isError });
    }
    isError = false;
  };
  const readData = (data: string) => {
    if (data === '[DONE]') {
      settlePending();
      onEvent({ kind: 'done' });
      return;
    }
    const value = pending.length > 0 ? undefined : parsed(data);
    if (value === undefined) pending.push(data);
    else onEvent({ kind: 'json', value, isError });
  };
  const readLine = (line: string) => {
    if (line === '') settlePending();
    else if (line.startsWith('data:')) readData(line.slice(5).trim());
    else if (line.startsWith('event:')) isError = line.slice(6).trim() === 'error';
    // Not in the standard; older llama.cpp servers send their errors this way.
    else if (line.startsWith('error:')) {
      isError = true;
      readData(line.slice(6).trim());
    }
  };

  return {
    feed(text) {
      unended.push(text);
      // A line of any length is put together once, when its end has come.
      if (!text.includes('\n')) return;
      const lines = unended.join('').split('\n');
      unended = [lines.pop() ?? ''];
      for (const line of lines) readLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    },
    end() {
      const rest = unended.join('').trimEnd();
      unended = [];
      if (rest !== '') readLine(rest);
      settlePending();
    },
  };
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
