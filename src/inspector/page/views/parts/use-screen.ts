import { effect, signal } from '@preact/signals';
import { useLayoutEffect, useState } from 'preact/hooks';
import { type Camera, type Size, zoomAt } from '../../model/chart.ts';

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

/** Lets a wheel zoom, one pointer drag and two pointers pinch. Gives what takes it off again. */
export function cameraGestures(
  element: SVGSVGElement,
  camera: () => Camera | null,
  move: (camera: Camera) => void,
): () => void {
  const ends = new AbortController();
  const until = { signal: ends.signal };
  const pointers = gripOf(element);

  const wheel = (event: WheelEvent): void => {
    const now = camera();
    if (now === null) return;
    event.preventDefault();
    const { left, top } = edges(element);
    move(zoomAt(now, Math.exp(-event.deltaY / 400), { x: event.clientX - left, y: event.clientY - top }));
  };
  const down = (event: PointerEvent): void => {
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  };
  const drag = (event: PointerEvent): void => {
    const before = pointers.get(event.pointerId);
    const now = camera();
    if (before === undefined || now === null) return;
    const point = { x: event.clientX, y: event.clientY };
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (Math.abs(point.x - before.x) + Math.abs(point.y - before.y) > 3 && !element.hasPointerCapture(event.pointerId))
      element.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, point);
    if (other === undefined) return move({ ...now, x: now.x + point.x - before.x, y: now.y + point.y - before.y });
    const { left, top } = edges(element);
    const by = Math.hypot(point.x - other.x, point.y - other.y) / Math.hypot(before.x - other.x, before.y - other.y);
    if (Number.isFinite(by) && by > 0)
      move(zoomAt(now, by, { x: (point.x + other.x) / 2 - left, y: (point.y + other.y) / 2 - top }));
  };
  const up = (event: PointerEvent): void => void pointers.delete(event.pointerId);

  element.addEventListener('wheel', wheel, { ...until, passive: false });
  element.addEventListener('pointerdown', down, until);
  element.addEventListener('pointermove', drag, until);
  element.addEventListener('pointerup', up, until);
  element.addEventListener('pointercancel', up, until);
  return () => ends.abort();
}

const grips = new WeakMap<Element, Map<number, { x: number; y: number }>>();

/** The pointers that are down on an element: they outlive a redraw in the middle of a drag. */
function gripOf(element: Element): Map<number, { x: number; y: number }> {
  const known = grips.get(element) ?? new Map<number, { x: number; y: number }>();
  grips.set(element, known);
  return known;
}

/** Listens to the wheel over an element, with how far from its left side it is; the page does not scroll by it. */
export function useWheel(
  element: { readonly current: HTMLElement | null },
  turn: (event: WheelEvent, left: number) => void,
): void {
  useLayoutEffect(() => {
    const target = element.current;
    const listener = (event: WheelEvent): void => {
      event.preventDefault();
      turn(event, event.clientX - edges(target).left);
    };
    target?.addEventListener('wheel', listener, { passive: false });
    return () => target?.removeEventListener('wheel', listener);
  });
}

/** The left and the upper side of an element in the window. */
export function edges(element: Element | null): { readonly left: number; readonly top: number } {
  return element?.getBoundingClientRect() ?? { left: 0, top: 0 };
}
