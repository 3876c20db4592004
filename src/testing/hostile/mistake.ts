import type { ModelReply, ModelRequest } from '../../actors/model.ts';
import type { Random } from './random.ts';
import type { Said } from './said.ts';

/** What a mistake is made of. */
export interface Making {
  readonly said: Said;
  readonly request: ModelRequest;
  /** The reply before, as it was really given; null for the first. */
  readonly before: ModelReply | null;
  readonly random: Random;
}

/** One way in which a model goes wrong. */
export interface Mistake {
  /** True when what was meant still stands in the reply, so that it need not be said again. */
  readonly keepsMeaning: boolean;
  /** The spoilt reply, the error with which the request fails, or null where this mistake cannot be made. */
  readonly make: (making: Making) => Said | Error | null;
}

/** A mistake after which what was meant can still be read. */
export function garbling(make: Mistake['make']): Mistake {
  return { keepsMeaning: true, make };
}

/** A mistake after which the model has to say it again. */
export function losing(make: Mistake['make']): Mistake {
  return { keepsMeaning: false, make };
}
