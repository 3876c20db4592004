/**
 * Lets methods of a class be taken out of its instances (`const { run } = agent`): one that is taken is bound then, and stays with
 * its instance. Methods that nobody takes cost an instance nothing. `names`: all, unless some are named.
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
        // Who looks at the class, such as a spy of a test, sees the method itself.
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
