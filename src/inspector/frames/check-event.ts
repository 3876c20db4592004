import { describeThrown } from '../../json/to-json.ts';
import type { JsonObject } from '../../json/json.ts';
import type { StandardIssue } from '../../tools/schema.ts';
import { eventIssues, issueText } from './event-issues.ts';
import type { EventSchema } from './event-schemas.ts';

type SentEvent = { readonly type: string } & JsonObject;

/** The event to give to the machine, as its schema makes it; or why the machine does not get it. */
export type CheckedEvent =
  | { readonly ok: true; readonly event: { readonly type: string } }
  | { readonly ok: false; readonly message: string };

/** Holds an event against the schema of its type. An event of which nothing is known passes as it is. Never rejects. */
export async function checkEvent(event: SentEvent, schema: EventSchema | undefined): Promise<CheckedEvent> {
  if (schema === undefined) return { ok: true, event };
  if (schema.json === false)
    return { ok: false, message: `Events such as ${event.type} are made by the machine itself.` };
  if (schema.standard !== null) return checkByCode(event, schema.standard);
  const issues = schema.json === null ? [] : eventIssues(event, schema.json);
  return issues.length === 0 ? { ok: true, event } : refused(event, issues.map(issueText));
}

/** The schema may describe the whole event or what it carries beside its type. */
async function checkByCode(event: SentEvent, standard: NonNullable<EventSchema['standard']>): Promise<CheckedEvent> {
  const { type, ...carried } = event;
  let fewest: readonly StandardIssue[] | null = null;
  try {
    for (const value of [event, carried]) {
      const result = await standard.validate(value);
      if (result.issues === undefined)
        return { ok: true, event: isRecord(result.value) ? { ...result.value, type } : event };
      if (fewest === null || result.issues.length < fewest.length) fewest = result.issues;
    }
  } catch (error) {
    return { ok: false, message: `The schema of ${type} failed: ${describeThrown(error).message}` };
  }
  return refused(event, (fewest ?? []).map(standardText));
}

const MOST_ISSUES = 5;

function refused({ type }: SentEvent, issues: readonly string[]): CheckedEvent {
  const more = issues.length > MOST_ISSUES ? `; and ${issues.length - MOST_ISSUES} more` : '';
  return { ok: false, message: `This is no ${type} (${issues.slice(0, MOST_ISSUES).join('; ')}${more}).` };
}

function standardText({ path = [], message }: StandardIssue): string {
  const place = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
  return place === '' ? message : `${place}: ${message}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
