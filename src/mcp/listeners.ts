/** Events by their `type`, each to the listeners that asked for it. */
export interface Listeners<E extends { readonly type: string }> {
  /** Returns the function that ends the subscription. */
  on<T extends E['type']>(type: T, listener: (event: Extract<E, { readonly type: T }>) => void): () => void;
  emit(event: E): void;
}

/** Makes a list of listeners. One that throws neither hinders the others nor whoever emitted. */
export function createListeners<E extends { readonly type: string }>(): Listeners<E> {
  const entries = new Set<(event: E) => void>();
  return {
    on(type, listener) {
      const hear = (event: E): void => {
        if (isOfType(event, type)) listener(event);
      };
      entries.add(hear);
      return () => void entries.delete(hear);
    },
    emit(event) {
      // Who subscribes while an event is told hears the next one first.
      const present = [...entries];
      for (const hear of present) {
        try {
          hear(event);
        } catch {
          // What a listener does wrong is its own affair: the connection must go on.
        }
      }
    },
  };
}

function isOfType<E extends { readonly type: string }, T extends E['type']>(
  event: E,
  type: T,
): event is Extract<E, { readonly type: T }> {
  return event.type === type;
}
