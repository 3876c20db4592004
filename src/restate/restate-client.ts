import { type Recording, readRecording } from '../journal/format/recording.ts';
import { optionsOf } from '../json/known-options.ts';
import { isJsonObject } from '../json/json.ts';
import type { RecordingPage, RestateRequest, RestateResult, RestateState } from './restate-agent.ts';
import type { RestateMessage } from './restate-messages.ts';

/** Where an agent on Restate is reached. */
export interface RestateClientOptions {
  /** The address of Restate's ingress, such as `http://localhost:8080`. */
  readonly url: string;
  /** The name of the service: the agent's, unless it was given another. */
  readonly name: string;
  /** Sent with each request, such as an `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Reaches the runs of an agent on Restate. What Restate refuses rejects with an error whose `status` is that of HTTP. */
export interface RestateClient {
  /** Does a run and waits for its end. A second one with the same id is refused (409). */
  run(runId: string, request: RestateRequest): Promise<RestateResult>;
  /** Begins a run; resolves once Restate has it. */
  start(runId: string, request: RestateRequest): Promise<void>;
  /** Waits for the end of a run that was begun. */
  result(runId: string): Promise<RestateResult>;
  /** Says something to a run. False: it does not take it. Rejects for a run that has not begun (404). */
  send(runId: string, message: RestateMessage): Promise<boolean>;
  /** Where a run stands; null for one that is not there. */
  state(runId: string): Promise<RestateState | null>;
  /** The recording so far as JSON lines, to be replayed or inspected; null for a run that is not there. */
  recording(runId: string): Promise<string | null>;
  /** The same as it is read, so that a run can be followed like one of a journal. */
  read(runId: string): Promise<Recording | null>;
}

const checkOptions = optionsOf<RestateClientOptions>('restateClient', 'docs/restate.md', {
  url: true,
  name: true,
  headers: true,
});

/**
 * A client of an agent on Restate, over HTTP; Restate's own clients reach it as well.
 *
 * @example const { result } = await restateClient({ url: 'http://localhost:8080', name: 'mailer' }).run('one', 'Mail Ada');
 */
export function restateClient(options: RestateClientOptions): RestateClient {
  checkOptions(options);
  const { url, name, headers = {} } = options;
  const base = url.replace(/\/+$/, '');
  const at = (runId: string, handler: string): string =>
    `${base}/${encodeURIComponent(name)}/${encodeURIComponent(runId)}/${handler}`;
  const post = async <T>(address: string, body?: unknown): Promise<T> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    return answerOf<T>(await fetch(address, { method: 'POST', headers: { ...headers, ...type }, ...sent }));
  };
  const recording = async (runId: string): Promise<string | null> => {
    let text = '';
    for (let from: number | null = 0; from !== null;) {
      // oxlint-disable-next-line no-await-in-loop -- each page says where the next begins
      const page: RecordingPage | null = await post<RecordingPage | null>(at(runId, 'recording'), { from });
      if (page === null) return null;
      text += page.text;
      from = page.next;
    }
    return text;
  };
  return {
    run: (runId, request) => post(at(runId, 'run'), request),
    start: async (runId, request) => void (await post(at(runId, 'run/send'), request)),
    result: async (runId) => {
      const address = `${base}/restate/workflow/${encodeURIComponent(name)}/${encodeURIComponent(runId)}/attach`;
      return answerOf(await fetch(address, { headers }));
    },
    send: (runId, message) => post(at(runId, 'send'), message),
    state: (runId) => post(at(runId, 'state')),
    recording,
    read: async (runId) => {
      const text = await recording(runId);
      return text === null ? null : readRecording(text);
    },
  };
}

async function answerOf<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text === '' ? 'null' : text);
  throw Object.assign(new Error(`Restate refused it: ${messageOf(text)}`), { status: answer.status });
}

function messageOf(text: string): string {
  try {
    const body: unknown = JSON.parse(text);
    return isJsonObject(body) && typeof body.message === 'string' ? body.message : text;
  } catch {
    return text;
  }
}
