import type { ComponentChildren } from 'preact';
import { lastUpTo } from '../../model/time-scale.ts';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualListProps<T> {
  readonly items: readonly T[];
  /** Height of a row in pixels; where rows differ, what one is likely to have. */
  readonly estimate: number;
  /** Rows differ in height: those that were seen are measured. */
  readonly measured?: boolean;
  readonly label: string;
  /** Stay at the end while the reader is there, and does not work in one of the rows. */
  readonly stick: boolean;
  /** Keep this row in sight when it changes; null leaves the reader alone. */
  readonly reveal: number | null;
  readonly render: (item: T, index: number) => ComponentChildren;
}

const OVERSCAN_PX = 240;

/** A list that has only the rows in its document that are in sight: ten thousand cost no more than twenty. */
export function VirtualList<T>({
  items,
  estimate,
  measured = false,
  label,
  stick,
  reveal,
  render,
}: VirtualListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const heights = useRef<number[]>([]);
  const atEnd = useRef(true);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [, again] = useState(0);
  const place = measured ? offsets(heights.current, items.length, estimate) : null;
  const topOf = (index: number): number => (place === null ? index * estimate : (place[index] ?? 0));
  const total = topOf(items.length);
  const first = rowAt(place, estimate, items.length, view.top - OVERSCAN_PX);
  const last = Math.min(items.length, rowAt(place, estimate, items.length, view.top + view.height + OVERSCAN_PX) + 1);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);

  useLayoutEffect(() => {
    if (!measured || rows.current === null) return;
    let changed = false;
    for (const [offset, row] of [...rows.current.children].entries()) {
      const height = row.getBoundingClientRect().height;
      if (Math.abs((heights.current[first + offset] ?? estimate) - height) < 0.5) continue;
      heights.current[first + offset] = height;
      changed = true;
    }
    if (changed) again((n) => n + 1);
  });

  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && stick && atEnd.current && !worksIn(element)) element.scrollTop = element.scrollHeight;
  });

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || reveal === null || reveal < 0) return;
    atEnd.current = reveal === items.length - 1;
    const [top, bottom] = [topOf(reveal), topOf(reveal + 1)];
    if (top < element.scrollTop) element.scrollTop = Math.max(0, top - 8);
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight + 8;
  }, [reveal, total]);

  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 32;
    setView({ top: element.scrollTop, height: element.clientHeight });
  };

  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A list that scrolls must be reachable by keyboard.
    <div ref={box} class="scroll" role="list" aria-label={label} tabIndex={0} onScroll={onScroll}>
      <div style={{ height: `${topOf(first)}px` }} />
      <div ref={rows}>
        {items.slice(first, last).map((item, offset) => (
          <div key={first + offset} role="listitem" aria-setsize={items.length} aria-posinset={first + offset + 1}>
            {render(item, first + offset)}
          </div>
        ))}
      </div>
      <div style={{ height: `${Math.max(0, total - topOf(last))}px` }} />
    </div>
  );
}

/** Somebody has the focus on something in it, such as a field. */
function worksIn(element: HTMLElement): boolean {
  const { activeElement } = document;
  return activeElement !== element && element.contains(activeElement);
}

function offsets(heights: readonly number[], count: number, estimate: number): Float64Array {
  const place = new Float64Array(count + 1);
  for (let index = 0; index < count; index++) place[index + 1] = (place[index] ?? 0) + (heights[index] ?? estimate);
  return place;
}

function rowAt(place: Float64Array | null, estimate: number, count: number, y: number): number {
  if (y <= 0 || count === 0) return 0;
  if (place === null) return Math.min(count, Math.floor(y / estimate));
  return Math.max(
    0,
    lastUpTo(count + 1, (index) => place[index], y),
  );
}
