/** Sessions that may never end, in the order in which something last happened in them. */
export interface Room {
  /** Something happens in a session; `onGone` is called when it has to go for others. */
  touch(id: string, onGone?: () => void): void;
  /** It is over, and counts no more. */
  leave(id: string): void;
}

/** Room for a number of sessions; `remove` is called with the one that was silent longest when there are more. */
export function room(most: number, remove: (id: string) => void): Room {
  const inside = new Map<string, () => void>();
  return {
    touch: (id, onGone = () => undefined) => {
      inside.delete(id);
      inside.set(id, onGone);
      for (const [oldest, gone] of inside) {
        if (inside.size <= most) return;
        inside.delete(oldest);
        gone();
        remove(oldest);
      }
    },
    leave: (id) => void inside.delete(id),
  };
}
