import { z } from 'zod';
import type { Json } from '../../json/json.ts';
import type { Act } from '../frames/protocol.ts';

const json: z.ZodType<Json> = z.json();
const object = z.record(z.string(), json);
const text = z.string().max(100_000);

const schema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('approve'),
    callId: text,
    always: z.boolean().exactOptional(),
    args: object.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('reject'), callId: text, reason: text.exactOptional() }),
  z.strictObject({ kind: z.literal('cancel'), reason: text.exactOptional() }),
  z.strictObject({
    kind: z.literal('send'),
    event: z.intersection(z.object({ type: text.min(1) }), object),
    to: text.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('fork'), entry: z.int().min(1), outcome: json.exactOptional() }),
]);

/** Reads what the page asks for; a text that says what is wrong with it otherwise. */
export function readAct(body: string): Act | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return 'The body is no JSON.';
  }
  const checked = schema.safeParse(parsed);
  if (checked.success) return checked.data;
  return checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
}
