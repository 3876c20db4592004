import { type Recording, readRecording } from '../journal/format/recording.ts';
import { optionsOf, wrongOption } from '../json/known-options.ts';
import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import { JournalError } from '../journal/format/journal-error.ts';
import type { JournalStore } from '../journal/run/run-journal.ts';
import type { RecordingPage, RestateRequest, RestateResult, RestateState } from './restate-agent.ts';
import type { RestateMessage } from './restate-messages.ts';

/** Where an agent on Restate is reached. */
export interface RestateClientOptions {
  /** The address of Restate's ingress, such as `http://localhost:8080`. */
  readonly url: string;
  /** The name of the service: the agent's, unless it was given another. */
  readonly name: string;
  /** Sent with each request, such as an `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Reaches the runs of an agent on Restate. What Restate refuses rejects with an error that has the HTTP `status`. */
export interface RestateClient {
  /** Does a run and waits for its end. A second one with the same id is refused (409). */
  run(runId: string, request: RestateRequest): Promise<RestateResult>;
  /** Begins a run; resolves once Restate has it. */
  start(runId: string, request: RestateRequest): Promise<void>;
  /** Waits for the end of a run that was begun. */
  result(runId: string): Promise<RestateResult>;
  /** Sends an event to a run. False: it was not accepted. Rejects for a run that has not begun (404). */
  send(runId: string, message: RestateMessage): Promise<boolean>;
  /** The state of a run; null if it does not exist. */
  state(runId: string): Promise<RestateState | null>;
  /** The recording so far as JSON lines, to be replayed or inspected; null for a run that is not there. */
  recording(runId: string): Promise<string | null>;
  /** The same as it is read, so that a run can be followed like one of a journal. */
  read(runId: string): Promise<Recording | null>;
  /**
   * The runs as a journal of an agent in any process: `agent.recording`, `approve`, `reject`, `steer`, `queue` and `cancel` reach
   * them by their ids. No run begins in it or is resumed from it: that is Restate's.
   *
   * @example createAgent({ ...options, journal: runs.journal }).approve('run-1', 'c2')
   */
  readonly journal: JournalStore;
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
      const page: RecordingPage | null = await post<RecordingPage | null>(at(runId, 'recording'), { from });
      if (page === null) return null;
      text += page.text;
      from = page.next;
    }
    return text;
  };
  const read = async (runId: string): Promise<Recording | null> => {
    const text = await recording(runId);
    return text === null ? null : readRecording(text);
  };
  const send = (runId: string, message: RestateMessage): Promise<boolean> => post(at(runId, 'send'), message);
  const state = (runId: string): Promise<RestateState | null> => post(at(runId, 'state'));
  return {
    run: (runId, request) => post(at(runId, 'run'), request),
    start: async (runId, request) => void (await post(at(runId, 'run/send'), request)),
    result: async (runId) => {
      const address = `${base}/restate/workflow/${encodeURIComponent(name)}/${encodeURIComponent(runId)}/attach`;
      return answerOf(await fetch(address, { headers }));
    },
    send,
    state,
    recording,
    read,
    journal: {
      open: () => {
        throw wrongOption(`Runs of '${name}' are begun by Restate: use the client's run or start.`);
      },
      // The engine has them all, and is asked for each.
      take: async (runId) => {
        if ((await state(runId)) === null) return null;
        throw new JournalError('run-locked', runId, `Restate at ${base}`);
      },
      read,
      requests: {
        ask: async (runId, request) => ({ value: await asked(request, (message) => send(runId, message)) }),
        serve: () => () => undefined,
      },
    },
  };
}

/**
 * Sends a run the requests that an agent makes by its id. What it accepts is durable, and the model gets it with its next turn.
 */
async function asked(request: JsonObject, send: (message: RestateMessage) => Promise<boolean>): Promise<Json> {
  const { do: type, how, input, ...rest } = request;
  const isMessage = type === 'steer' || type === 'queue';
  const text = type === 'queue' ? { text: input } : {};
  if (type === 'queue' && typeof input !== 'string') throw wrongOption('Messages for a run on Restate must be text.');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the handler checks it
  const message = { type, ...rest, ...(isJsonObject(how) ? how : {}), ...text } as RestateMessage;
  const isTaken = await send(message);
  return isMessage ? { delivered: false, reason: isTaken ? 'kept' : 'over' } : isTaken;
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
