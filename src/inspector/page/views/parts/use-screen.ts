import { effect, signal } from '@preact/signals';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { Size } from '../../model/chart.ts';

/** The theme that is shown. The reader's choice is kept; without one the system's holds. */
export const theme = signal<'dark' | 'light'>(firstTheme());

/** Puts the theme on the page and keeps it. Call once. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
  });
}

/** Switches between dark and light, and remembers it. */
export function toggleTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem('signalbox-theme', theme.value);
  } catch {
    // A page opened from a file may have no storage; the choice then lasts as long as the page.
  }
}

function firstTheme(): 'dark' | 'light' {
  try {
    const kept = localStorage.getItem('signalbox-theme');
    if (kept === 'dark' || kept === 'light') return kept;
  } catch {
    // See above.
  }
  return matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
}

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
