/**
 * Makes a function that gives an object members which are worked out when they are read, as own members, so that spreading
 * the object copies them. All objects share the getters: V8 gives an object with getters of its own a hidden class of its
 * own, and that keeps what they refer to until the next full collection.
 */
export function lazyMembers<TSource, TMembers extends object>(members: {
  readonly [Name in keyof TMembers]: (source: TSource) => TMembers[Name];
}): <T extends object>(target: T, source: TSource) => T & Readonly<TMembers> {
  const hidden = Symbol('source');
  const getters: PropertyDescriptorMap = {};
  for (const [name, read] of Object.entries<(source: TSource) => unknown>(members))
    getters[name] = {
      enumerable: true,
      configurable: true,
      get(this: { readonly [hidden]: TSource }) {
        return read(this[hidden]);
      },
    };
  return (target, source) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has them now
    Object.defineProperties(Object.defineProperty(target, hidden, { value: source }), getters) as never;
}
