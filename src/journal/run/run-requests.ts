import type { JsonObject } from '../../json/json.ts';

/**
 * Requests to a run from processes that do not drive it: to approve a call, to steer, to cancel. A request and its answer are
 * JSON. They are not part of the recording: the run records what it takes of them.
 */
export interface RunRequests {
  /**
   * Asks the process that drives a run. Resolves with its answer; null if no process has taken the request within
   * `waitMs` milliseconds: it is then withdrawn and will not be taken.
   */
  ask(runId: string, request: JsonObject, waitMs: number): Promise<JsonObject | null>;
  /** Answers the requests to a run that is driven here, each once, until the function that it returns is called. */
  serve(runId: string, answer: RequestAnswerer): () => void;
}

/** How the process that drives a run answers a request. */
export type RequestAnswerer = (request: JsonObject) => Promise<JsonObject>;

/** Requests within one process. */
export function localRequests(): RunRequests {
  const served = new Map<string, RequestAnswerer>();
  return {
    ask: async (runId, request) => (await served.get(runId)?.(request)) ?? null,
    serve: (runId, answer) => {
      served.set(runId, answer);
      return () => {
        if (served.get(runId) === answer) served.delete(runId);
      };
    },
  };
}
