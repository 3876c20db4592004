import { useLayoutEffect, useState } from 'preact/hooks';
import type { Size } from '../chart/camera.ts';

/** The size of an element, kept up to date. */
export function useSize(element: { readonly current: Element | null }): Size {
  const [size, setSize] = useState<Size>({ width: 800, height: 400 });
  useLayoutEffect(() => {
    const target = element.current;
    if (target === null) return;
    const look = (): void => {
      const { width, height } = target.getBoundingClientRect();
      if (width > 0 && height > 0)
        setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    look();
    const watcher = new ResizeObserver(look);
    watcher.observe(target);
    return () => watcher.disconnect();
  }, []);
  return size;
}
