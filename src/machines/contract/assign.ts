import { assign as assignOf } from 'xstate';

/**
 * XState's `assign` for a part of its price. XState works out value and tags of a snapshot whenever one is made; they follow from
 * the states, which an assign does not change, so here they are taken over with all else. Functions cannot spawn actors.
 */
export const assign: typeof assignOf = (assignment) => {
  const action = assignOf(assignment);
  const own: unknown = Reflect.get(action, 'resolve');
  // A version of XState without these five parameters does it itself.
  if (!isFunction(own) || own.length !== 5) return action;
  const update = updateBy(assignment);
  const resolve = (...all: [unknown, { readonly context: object }, unknown, unknown, ...unknown[]]): unknown => {
    const [, snapshot, args, params] = all;
    if (Object.getPrototypeOf(snapshot) !== Object.prototype) return own(...all);
    // As XState does it, so that V8 sees one shape of each context; a spread would make a second one.
    const context = Object.assign({}, snapshot.context, update(args, params));
    return [{ ...snapshot, context }, undefined, undefined];
  };
  return Object.assign(action, { resolve });
};

type AnyFunction = (...given: readonly unknown[]) => object;

function isFunction(value: unknown): value is AnyFunction {
  return typeof value === 'function';
}

function updateBy(assignment: object): AnyFunction {
  if (isFunction(assignment)) return assignment;
  const members: readonly (readonly [string, unknown])[] = Object.entries(assignment);
  return (...given) => {
    const update: Record<string, unknown> = {};
    for (const [name, member] of members) update[name] = isFunction(member) ? member(...given) : member;
    return update;
  };
}

/** A guard or an action by its name, for the end of an actor: it gets the actor's output. */
export function withOutput<T extends string>(type: T): { readonly type: T; readonly params: typeof outputOfEvent } {
  return { type, params: outputOfEvent };
}

const outputOfEvent = <TOutput>({ event }: { readonly event: { readonly output: TOutput } }): TOutput => event.output;
