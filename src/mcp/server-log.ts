import type { Json, JsonObject } from '../json/json.ts';
import { cutMiddle } from '../tools/result.ts';

/** How grave a log message of a server is, least first: the levels of syslog. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

/** A level of {@link LOG_LEVELS}. */
export type McpLogLevel = (typeof LOG_LEVELS)[number];

/** What a server writes into the log of its client. */
export interface McpLogMessage {
  readonly level: McpLogLevel;
  /** The part of the server that says it; null when it does not say which. */
  readonly logger: string | null;
  /** Its text, or the JSON of anything else; at most 2 000 characters, the rest cut out of the middle. */
  readonly message: string;
  /** How many messages before this one were left out because there were too many. */
  readonly leftOut: number;
}

const MOST_A_SECOND = 20;
const LONGEST = 2000;

/**
 * Makes the log of one server out of its `notifications/message`: those of `least` and above, at most twenty a second. A
 * server may flood its client, and not every one heeds the level that it was told.
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
    tell({ level, logger: typeof logger === 'string' ? logger.slice(0, 200) : null, message: textOf(data), leftOut });
    leftOut = 0;
  };
}

function textOf(data: Json | undefined): string {
  return cutMiddle(typeof data === 'string' ? data : JSON.stringify(data ?? null), LONGEST);
}
