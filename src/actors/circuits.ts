/**
 * Owns: which models rest after failures, while the process lives. Does not own: what is asked instead (the machine
 * decides that on the outcome `circuit-open`, so a replay needs none of this).
 *
 * I1 A model rests after two failures in a row, at once after one that is known to last.
 * I2 After the pause one request goes through: its outcome ends the rest or begins another.
 */
import { type Model, ModelError } from './model.ts';

/** How long a model rests if its server names no time. */
const REST_MS = 30_000;
const LONGEST_REST_MS = 600_000;
const MOST_FAILURES = 2;

/** Failures of a model or its server; all others show that it is there. */
const OUTAGES: ReadonlySet<string> = new Set([
  'connect-failed',
  'timeout',
  'rate-limited',
  'server-error',
  'bad-response',
  'model-error',
]);

/** Those that do not clear up quickly. */
const LASTING: ReadonlySet<string> = new Set(['quota-exhausted', 'model-not-found', 'no-model']);

interface Circuit {
  failures: number;
  /** When one request may go through again, by a clock that nobody sets; null: all may. */
  restsUntil: number | null;
  isTried: boolean;
}

const ofObjects = new WeakMap<Model, Circuit>();
const ofEndpoints = new Map<string, Circuit>();
const endpoints = new WeakMap<Model, () => string | undefined>();

/** The endpoint that a model's requests go to, so that all models of one endpoint rest together. Called for each request. */
export function rememberEndpoint(model: Model, endpoint: () => string | undefined): void {
  endpoints.set(model, endpoint);
}

/**
 * Asks a model unless it rests, in which case this rejects with `circuit-open`; `always` asks even then. The outcome
 * decides whether the model rests from now on.
 */
export async function askUnlessResting<T>(
  model: Model,
  { always, signal }: { readonly always: boolean; readonly signal: AbortSignal },
  ask: () => Promise<T>,
): Promise<T> {
  const circuit = circuitOf(model);
  const isTrial = circuit.restsUntil !== null;
  if (isTrial && !always && (circuit.isTried || performance.now() < (circuit.restsUntil ?? 0)))
    throw new ModelError('circuit-open', `'${model.id ?? 'The model'}' failed a moment ago and is not asked now.`);
  circuit.isTried = isTrial;
  try {
    const reply = await ask();
    close(circuit);
    return reply;
  } catch (error) {
    if (!signal.aborted) takeFailure(circuit, error);
    throw error;
  } finally {
    if (isTrial) circuit.isTried = false;
  }
}

function takeFailure(circuit: Circuit, error: unknown): void {
  const { code, retryAfterMs } = error instanceof ModelError ? error : { code: 'model-error', retryAfterMs: undefined };
  const lasts = LASTING.has(code);
  if (!lasts && !OUTAGES.has(code)) return close(circuit);
  circuit.failures += 1;
  if (!lasts && retryAfterMs === undefined && circuit.failures < MOST_FAILURES) return;
  circuit.restsUntil = performance.now() + Math.min(retryAfterMs ?? REST_MS, LONGEST_REST_MS);
}

function close(circuit: Circuit): void {
  circuit.failures = 0;
  circuit.restsUntil = null;
}

function circuitOf(model: Model): Circuit {
  const endpoint = endpoints.get(model)?.();
  const fresh = (): Circuit => ({ failures: 0, restsUntil: null, isTried: false });
  if (endpoint === undefined) {
    const known = ofObjects.get(model) ?? fresh();
    ofObjects.set(model, known);
    return known;
  }
  const known = ofEndpoints.get(endpoint) ?? fresh();
  ofEndpoints.set(endpoint, known);
  return known;
}
