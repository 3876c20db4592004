import type { Signal } from '@preact/signals';
import { type Camera, type Size, zoomAt } from '../../model/chart.ts';
import { usePage } from '../../state/page-state.ts';
import { Button, IconButton } from '../parts/Button.tsx';

interface ChartToolsProps {
  readonly camera: Camera | null;
  readonly view: Size;
  /** Null fits the drawing to its place again. */
  readonly onCamera: (camera: Camera | null) => void;
  /** Zooms to the state that has the focus, else to the active one. */
  readonly onNear: () => void;
}

/** Zoom, fit, follow, labels. */
export function ChartTools({ camera, view, onCamera, onNear }: ChartToolsProps) {
  const { state } = usePage();
  const zoom = (by: number): void => {
    if (camera !== null) onCamera(zoomAt(camera, by, { x: view.width / 2, y: view.height / 2 }));
  };
  return (
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- A toolbar has no tag of its own.
    <div class="chart-tools" role="toolbar" aria-label="Chart">
      <IconButton icon="plus" label="Zoom in" title="Zoom in (+)" data-key="+" onClick={() => zoom(1.25)} />
      <IconButton icon="minus" label="Zoom out" title="Zoom out (−)" data-key="-" onClick={() => zoom(0.8)} />
      <IconButton icon="fit" label="Fit the chart" title="Fit (f)" data-key="f" onClick={() => onCamera(null)} />
      <IconButton icon="search" label="Zoom to the state" title="Zoom to the state (z)" data-key="z" onClick={onNear} />
      <Toggle on={state.follow} label="Follow" title="Keep the active state in sight (g)" />
      <Toggle on={state.labels} label="Labels" title="Name all transitions (l)" />
    </div>
  );
}

function Toggle({
  on,
  label,
  title,
}: {
  readonly on: Signal<boolean>;
  readonly label: string;
  readonly title: string;
}) {
  return (
    <Button look="quiet" title={title} aria-pressed={on.value} onClick={() => (on.value = !on.value)}>
      {label}
    </Button>
  );
}

/** Lets a wheel zoom, one pointer drag and two pointers pinch. Gives what takes it off again. */
export function cameraGestures(
  element: SVGSVGElement,
  camera: () => Camera | null,
  move: (camera: Camera) => void,
): () => void {
  const ends = new AbortController();
  const { signal } = ends;
  const pointers = gripOf(element);

  const wheel = (event: WheelEvent): void => {
    const now = camera();
    if (now === null) return;
    event.preventDefault();
    const { left, top } = element.getBoundingClientRect();
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
    const { left, top } = element.getBoundingClientRect();
    const by = Math.hypot(point.x - other.x, point.y - other.y) / Math.hypot(before.x - other.x, before.y - other.y);
    if (Number.isFinite(by) && by > 0)
      move(zoomAt(now, by, { x: (point.x + other.x) / 2 - left, y: (point.y + other.y) / 2 - top }));
  };
  const up = (event: PointerEvent): void => void pointers.delete(event.pointerId);

  element.addEventListener('wheel', wheel, { signal, passive: false });
  element.addEventListener('pointerdown', down, { signal });
  element.addEventListener('pointermove', drag, { signal });
  element.addEventListener('pointerup', up, { signal });
  element.addEventListener('pointercancel', up, { signal });
  return () => ends.abort();
}

const grips = new WeakMap<Element, Map<number, { x: number; y: number }>>();

/** The pointers that are down on an element: they outlive a redraw in the middle of a drag. */
function gripOf(element: Element): Map<number, { x: number; y: number }> {
  const known = grips.get(element) ?? new Map<number, { x: number; y: number }>();
  grips.set(element, known);
  return known;
}
