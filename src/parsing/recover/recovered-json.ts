import type { Issue } from '../../json/errors.ts';
import type { Json } from '../../json/json.ts';
import type { Repair } from '../reply.ts';

/** A recovered value, or why there is none. */
export type RecoveredJson =
  | { readonly ok: true; readonly value: Json; readonly complete: boolean; readonly repairs: readonly Repair[] }
  | { readonly ok: false; readonly issues: readonly Issue[] };
