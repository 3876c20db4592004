import { type Camera, type Size, zoomAt } from '../../chart/camera.ts';
import { usePage } from '../../state/page-context.ts';
import { Icon } from '../Icon.tsx';

interface ChartToolsProps {
  readonly camera: Camera | null;
  readonly view: Size;
  /** Null fits the drawing to its place again. */
  readonly onCamera: (camera: Camera | null) => void;
}

/** Zoom, fit, follow, labels. */
export function ChartTools({ camera, view, onCamera }: ChartToolsProps) {
  const { state } = usePage();
  const zoom = (by: number): void => {
    if (camera !== null) onCamera(zoomAt(camera, by, { x: view.width / 2, y: view.height / 2 }));
  };
  return (
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- A toolbar has no tag of its own.
    <div class="chart-tools" role="toolbar" aria-label="Chart">
      <button
        type="button"
        class="button quiet icon"
        data-key="+"
        title="Zoom in (+)"
        aria-label="Zoom in"
        onClick={() => zoom(1.25)}
      >
        <Icon name="plus" />
      </button>
      <button
        type="button"
        class="button quiet icon"
        data-key="-"
        title="Zoom out (−)"
        aria-label="Zoom out"
        onClick={() => zoom(0.8)}
      >
        <Icon name="minus" />
      </button>
      <button
        type="button"
        class="button quiet icon"
        data-key="f"
        title="Fit (f)"
        aria-label="Fit the chart"
        onClick={() => onCamera(null)}
      >
        <Icon name="fit" />
      </button>
      <button
        type="button"
        class="button quiet"
        title="Keep the active state in sight (g)"
        aria-pressed={state.follow.value}
        onClick={() => (state.follow.value = !state.follow.value)}
      >
        Follow
      </button>
      <button
        type="button"
        class="button quiet"
        title="Name all transitions (l)"
        aria-pressed={state.labels.value}
        onClick={() => (state.labels.value = !state.labels.value)}
      >
        Labels
      </button>
    </div>
  );
}
