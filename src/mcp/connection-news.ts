import type { ProtocolWarning } from './wire/link.ts';
import { LOG_LEVELS, type McpLogLevel } from './config/config.ts';
import { type Json, type JsonObject, isJsonObject } from '../json/json.ts';
import { cutMiddle } from '../tools/result.ts';

/** Events by their `type`, each to the listeners that asked for it. */
export interface Listeners<E extends { readonly type: string }> {
  /** Returns the function that ends the subscription. */
  on<T extends E['type']>(type: T, listener: (event: Extract<E, { readonly type: T }>) => void): () => void;
  emit(event: E): void;
}

/** Makes a list of listeners. One that throws affects neither the others nor the emitter. */
export function createListeners<E extends { readonly type: string }>(): Listeners<E> {
  const entries = new Set<(event: E) => void>();
  return {
    on(type, listener) {
      const hear = (event: E): void => {
        if (isOfType(event, type)) listener(event);
      };
      entries.add(hear);
      return () => void entries.delete(hear);
    },
    emit(event) {
      // A listener added while an event is emitted receives the next one first.
      const present = [...entries];
      for (const hear of present) {
        try {
          hear(event);
        } catch {
          // What a listener does wrong is its own affair: the connection must continue.
        }
      }
    },
  };
}

function isOfType<E extends { readonly type: string }, T extends E['type']>(
  event: E,
  type: T,
): event is Extract<E, { readonly type: T }> {
  return event.type === type;
}

const FIRST = 20;
const EVERY = 1000;

/** Makes a counter that reports the first twenty protocol warnings and then every thousandth: a server may flood us with them. */
export function createWarningCounter(tell: (warning: ProtocolWarning & { readonly count: number }) => void) {
  let count = 0;
  const warnings = new Set<string>();
  return {
    /** What went past a limit and was cut to size or left out, the first twenty. */
    warnings: (): readonly string[] => [...warnings],
    /** Forgets the warnings: another link begins. */
    beginAnew: (): void => warnings.clear(),
    note(warning: ProtocolWarning): void {
      count += 1;
      if (warning.kind === 'limit' && warnings.size < FIRST) warnings.add(warning.message);
      if (count <= FIRST || count % EVERY === 0) tell({ ...warning, count });
    },
  };
}

/** What a server writes into the log of its client. */
export interface McpLogMessage {
  readonly level: McpLogLevel;
  /** The part of the server that logged it; null if it does not say. */
  readonly logger: string | null;
  /** Its text, or the JSON of anything else; at most 2 000 characters, the rest cut out of the middle. */
  readonly message: string;
  /** How many messages before this one were left out because there were too many. */
  readonly leftOut: number;
}

const MOST_A_SECOND = 20;
const LONGEST = 2000;

/**
 * Makes the log of one server from its `notifications/message`: those of `least` and above, at most twenty a second. A
 * server may flood its client, and not every server respects the requested level.
 */
export function createServerLog(
  least: McpLogLevel,
  tell: (message: McpLogMessage) => void,
): (params: JsonObject) => void {
  let second = -Infinity;
  let told = 0;
  let leftOut = 0;
  return ({ level: given, logger, data }) => {
    const level = LOG_LEVELS.find((known) => known === given) ?? 'info';
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(least)) return;
    const now = performance.now();
    if (now - second >= 1000) [second, told] = [now, 0];
    told += 1;
    if (told > MOST_A_SECOND) {
      leftOut += 1;
      return;
    }
    const message = cutMiddle(logText(data ?? null), LONGEST);
    tell({ level, logger: typeof logger === 'string' ? logger.slice(0, 200) : null, message, leftOut });
    leftOut = 0;
  };
}

/** A text as it is, also in the object that FastMCP's servers make of each; the JSON of anything else. */
function logText(data: Json): string {
  const text = isJsonObject(data) && data.extra === null && Object.keys(data).length === 2 ? data.msg : data;
  return typeof text === 'string' ? text : JSON.stringify(data);
}
