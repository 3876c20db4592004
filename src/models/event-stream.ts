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
  let rest = '';
  let searchFrom = 0;
  let pending = '';
  let isError = false;

  const settlePending = () => {
    if (pending !== '') onEvent({ kind: 'garbage', text: pending });
    pending = '';
    isError = false;
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
  const readData = (data: string) => {
    if (data === '[DONE]') {
      settlePending();
      onEvent({ kind: 'done' });
      return;
    }
    const text = pending === '' ? data : `${pending}\n${data}`;
    const value = parsed(text);
    if (value === undefined) {
      pending = text;
      return;
    }
    pending = '';
    onEvent({ kind: 'json', value, isError });
  };

  return {
    feed(text) {
      rest += text;
      let start = 0;
      for (let at = rest.indexOf('\n', searchFrom); at !== -1; at = rest.indexOf('\n', start)) {
        readLine(rest.slice(start, rest[at - 1] === '\r' ? at - 1 : at));
        start = at + 1;
      }
      rest = rest.slice(start);
      searchFrom = rest.length;
    },
    end() {
      if (rest !== '') readLine(rest.trimEnd());
      rest = '';
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
