import type { ComponentChildren } from 'preact';
import { lastUpTo } from '../../model/time-scale.ts';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualListProps<T> {
  readonly items: readonly T[];
  /** Height of a row in pixels; where rows differ, what one is likely to have. Default 24, that of a line. */
  readonly estimate?: number;
  /** Rows differ in height: those that were seen are measured. */
  readonly measured?: boolean;
  readonly label: string;
  /** Stay at the end while the reader is there, and does not work in one of the rows. Default false. */
  readonly stick?: boolean;
  /** Keep this row in sight when it changes; null, which is the default, leaves the reader alone. */
  readonly reveal?: number | null;
  readonly render: (item: T, index: number) => ComponentChildren;
}

const OVERSCAN_PX = 240;

/** What of a list is in sight, in pixels. */
interface View {
  readonly top: number;
  readonly height: number;
}

type Ref = { readonly current: HTMLElement | null };

/** A list that has only the rows in its document that are in sight: ten thousand cost no more than twenty. */
export function VirtualList<T>({
  items,
  estimate = 24,
  measured = false,
  label,
  stick = false,
  reveal = null,
  render,
}: VirtualListProps<T>) {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const heights = useRef<number[]>([]);
  const atEnd = useRef(true);
  const [view, setView] = useState<View>({ top: 0, height: 600 });
  const place = measured ? offsets(heights.current, items.length, estimate) : null;
  const topOf = (index: number): number => (place === null ? index * estimate : (place[index] ?? 0));
  const total = topOf(items.length);
  const first = rowAt(place, estimate, items.length, view.top - OVERSCAN_PX);
  const last = Math.min(items.length, rowAt(place, estimate, items.length, view.top + view.height + OVERSCAN_PX) + 1);

  useRowHeights(measured ? rows : null, (index, height) => {
    if (Math.abs((heights.current[index] ?? estimate) - height) < 0.5) return false;
    heights.current[index] = height;
    return true;
  });

  useStay(box, content, { isWanted: () => stick && atEnd.current, stick, onSize: setView });
  const revealed = useRef(reveal);
  useLayoutEffect(() => {
    const element = box.current;
    const isOther = revealed.current !== reveal;
    revealed.current = reveal;
    if (element === null || reveal === null || reveal < 0) return;
    // A form that grows stays where its reader is.
    if (!isOther && worksIn(element)) return;
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
      <div ref={content}>
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
    </div>
  );
}

/** Keeps a box scrolled to its end while that is wanted and nothing in it has the focus; reports the box's height. */
function useStay(
  box: Ref,
  content: Ref,
  { isWanted, stick, onSize }: { isWanted: () => boolean; stick: boolean; onSize: (view: View) => void },
): void {
  const stay = useRef(() => {});
  stay.current = () => {
    const element = box.current;
    if (element !== null && isWanted() && !worksIn(element)) element.scrollTop = element.scrollHeight;
  };
  useLayoutEffect(() => {
    const [element, all] = [box.current, content.current];
    if (element === null || all === null) return;
    const watcher = new ResizeObserver((sizes) => {
      stay.current();
      if (sizes.some(({ target }) => target === element))
        onSize({ top: element.scrollTop, height: element.clientHeight });
    });
    watcher.observe(element);
    watcher.observe(all);
    return () => watcher.disconnect();
  }, []);
  useLayoutEffect(() => stay.current(), [stick]);
}

/**
 * Reports the heights of rows when the browser has laid them out: to ask for them after each drawing would have it lay out
 * twice. Draws again in the next frame where `report` says that one has changed.
 */
function useRowHeights(rows: Ref | null, report: (index: number, height: number) => boolean): void {
  const [, again] = useState(0);
  const watched = useRef(new Set<Element>());
  const watcher = useRef<ResizeObserver | null>(null);
  const latest = useRef(report);
  latest.current = report;
  useLayoutEffect(() => {
    watcher.current = new ResizeObserver((sizes) => {
      const changed = sizes.filter(
        ({ target, borderBoxSize: [size] }) =>
          size !== undefined && target.isConnected && latest.current(Number(target.ariaPosInSet) - 1, size.blockSize),
      );
      if (changed.length > 0) requestAnimationFrame(() => again((n) => n + 1));
    });
    return () => watcher.current?.disconnect();
  }, []);
  useLayoutEffect(() => {
    const now = new Set<Element>(rows?.current?.children);
    for (const row of now) if (!watched.current.has(row)) watcher.current?.observe(row);
    for (const row of watched.current) if (!now.has(row)) watcher.current?.unobserve(row);
    watched.current = now;
  });
}

/** Something in it has the focus, such as a field. */
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
