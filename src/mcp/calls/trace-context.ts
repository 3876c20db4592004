import type { JsonObject } from '../../json/json.ts';

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** What a request carries of the caller's trace in its `_meta`: a `traceparent` as W3C has it, and nothing else. */
export function traceMeta(traceparent: string | undefined): { readonly meta?: JsonObject } {
  return traceparent !== undefined && TRACEPARENT.test(traceparent) ? { meta: { traceparent } } : {};
}
