import type { Issue } from './errors.ts';
import type { Json } from './json.ts';
import type { Repair } from './reply.ts';

/** A recovered value, or why there is none. */
export type RecoveredJson =
  | { readonly ok: true; readonly value: Json; readonly complete: boolean; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly issues: readonly Issue[] };
