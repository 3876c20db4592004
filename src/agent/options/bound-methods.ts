/**
 * Lets methods of a class be detached from its instances (`const { run } = agent`): a method is bound on first access
 * and kept with its instance. Methods that are never accessed cost an instance nothing. `names`: all by default.
 */
export function boundWhenTaken({ prototype }: { readonly prototype: object }, names?: readonly string[]): void {
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (typeof value !== 'function' || name === 'constructor' || names?.includes(name) === false) continue;
    const method: (...args: never[]) => unknown = value;
    const put = (instance: object, member: unknown): void =>
      void Object.defineProperty(instance, name, { value: member, writable: true, configurable: true });
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(this: object | undefined) {
        // Access through the class, such as by a test's spy, returns the method itself.
        if (this === undefined || this === prototype) return method;
        const bound: unknown = method.bind(this);
        put(this, bound);
        return bound;
      },
      set(this: object, member: unknown) {
        put(this, member);
      },
    });
  }
}
