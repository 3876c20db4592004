import { effect, signal } from '@preact/signals';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { Size } from '../../model/chart.ts';

type Theme = 'dark' | 'light';

const systemIsLight = matchMedia('(prefers-color-scheme: light)');

/** The theme that is shown. The reader's choice is kept; without one the system's holds. */
export const theme = signal<Theme>(keptTheme() ?? systemTheme());

/** Puts the theme on the page and keeps it. Call once. */
export function applyTheme(): void {
  const paint = (shown: Theme): void => {
    document.documentElement.dataset['theme'] = shown;
  };
  effect(() => paint(theme.value));
  systemIsLight.addEventListener('change', () => {
    if (!isChosen) theme.value = keptTheme() ?? systemTheme();
  });
  // Paper is white, and no backgrounds are printed.
  addEventListener('beforeprint', () => paint('light'));
  addEventListener('afterprint', () => paint(theme.value));
}

/** Where nothing can be kept, the choice holds as long as the page. */
let isChosen = false;

/** Switches between dark and light, and remembers it. */
export function toggleTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark';
  isChosen = true;
  try {
    localStorage.setItem('signalbox-theme', theme.value);
  } catch {
    // A page opened from a file may have no storage.
  }
}

function keptTheme(): Theme | null {
  try {
    const kept = localStorage.getItem('signalbox-theme');
    return kept === 'dark' || kept === 'light' ? kept : null;
  } catch {
    return null;
  }
}

function systemTheme(): Theme {
  return systemIsLight.matches ? 'light' : 'dark';
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
