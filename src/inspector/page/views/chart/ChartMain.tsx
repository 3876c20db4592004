import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { MachineDrawing } from '../../../frames/protocol.ts';
import {
  autoCollapsed,
  type Camera,
  cameraAt,
  fitCamera,
  holdsOthers,
  keepInSight,
  type Size,
  stateBeside,
  zoomAt,
} from '../../model/chart.ts';
import type { ChartLayout, StateBox } from '../../../layout/chart-layout.ts';
import { type ActorState, actorText, innermost, NO_VISITS, visitsAt } from '../../model/actor-state.ts';
import { layoutOf } from '../../state/layouts.ts';
import { usePage, type PageState } from '../../state/page-state.ts';
import { goTo } from '../../state/walk.ts';
import { ChartRoutes, FromAnywhere, LitLabels, StateView } from './ChartDrawing.tsx';
import { Button, IconButton } from '../parts/Button.tsx';
import { cameraGestures, useSize } from '../parts/use-screen.ts';
import { toneOfBox } from '../../model/tone.ts';

/** Kept free above a drawing for the title and the tools. */
const TOP = 40;
/** Below this zoom, names are set as large as their plates allow. */
const FAR = 0.78;

/** The statechart of one actor: fits itself to its place until the user zooms or moves it. */
export function ChartMain({ actor, drawing }: { readonly actor: ActorState; readonly drawing: MachineDrawing }) {
  const { state } = usePage();
  const session = state.session.value;
  const position = state.position.value;
  const svg = useRef<SVGSVGElement>(null);
  const size = useSize(svg);
  const moved = useSignal<Camera | null>(null);
  const toggled = useSignal<ReadonlySet<string>>(new Set());
  const focused = useSignal<string | null>(null);
  const { visits, taken: used } = session === null ? NO_VISITS : visitsAt(session, actor.path, position);
  const collapsed = autoCollapsed(drawing, visits).symmetricDifference(toggled.value);
  const found = useLayout({ drawing, collapsed, labels: state.labels.value, size });
  const layout = typeof found === 'string' ? null : found;
  const camera = moved.value ?? (layout === null ? null : fitCamera(layout, size, TOP));
  const taken = new Set(actor.step?.transitions ?? []);
  const here = innermost(actor.step?.to ?? []).join(' ');

  useEffect(() => {
    moved.value = null;
    toggled.value = new Set();
    focused.value = null;
  }, [actor.path]);

  const places = layout?.states ?? [];
  const move = (next: Camera | null): void => void (moved.value = next);
  useLayoutEffect(() => {
    if (svg.current !== null) return cameraGestures(svg.current, () => camera, move);
  });
  useEffect(() => {
    const box = places.find(({ path }) => here.split(' ').includes(path));
    if (state.follow.value && moved.value !== null && box !== undefined) move(keepInSight(moved.value, box, size));
  }, [here, state.follow.value]);

  const toggle = (path: string): void => void (toggled.value = toggled.value.symmetricDifference(new Set([path])));
  const near = (): void => {
    const box = places.find(({ path }) => path === keys.stop);
    if (box !== undefined) move(cameraAt(box, size));
  };
  const keys = useChartKeys({
    places,
    here,
    focused,
    focusOn: (box) => {
      if (moved.value !== null) moved.value = keepInSight(moved.value, box, size);
      const element = svg.current?.querySelector(`[data-state="${CSS.escape(box.path)}"]`);
      if (element instanceof SVGElement) element.focus();
    },
  });
  const plates = { drawing, actor, visits, taken, onToggle: toggle, keys };
  return (
    <>
      {/* oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- A drawing with parts that can be pressed. */}
      <svg
        ref={svg}
        class="chart-svg"
        role="group"
        aria-label={`Statechart of ${actorText(session, actor.path, state.position.value)}: in ${here || 'no state yet'}`}
      >
        <Arrows />
        {camera !== null && layout !== null && (
          <g
            class={camera.zoom < FAR ? 'far' : ''}
            transform={`translate(${camera.x} ${camera.y}) scale(${camera.zoom})`}
          >
            <Plates {...plates} layout={layout} compound />
            <ChartRoutes layout={layout} used={used} taken={taken} at={actor.position} labels={state.labels.value} />
            <Plates {...plates} layout={layout} compound={false} />
            <LitLabels layout={layout} taken={taken} />
          </g>
        )}
      </svg>
      {typeof found === 'string' && <p class="empty">This machine cannot be laid out: {found}</p>}
      <ChartTools camera={camera} view={size} onCamera={move} onNear={near} />
    </>
  );
}

interface PlatesProps {
  readonly layout: ChartLayout;
  readonly drawing: MachineDrawing;
  readonly compound: boolean;
  readonly actor: ActorState;
  readonly visits: ReadonlyMap<string, number>;
  readonly taken: ReadonlySet<string>;
  readonly onToggle: (path: string) => void;
  readonly keys: ChartKeys;
}

/** How a chart is used by keyboard: Tab leads to one of its states, arrows from there to the others. */
interface ChartKeys {
  readonly stop: string | null;
  readonly onArrow: (path: string, key: string) => boolean;
  readonly onFocus: (path: string) => void;
}

interface ChartFocus {
  readonly places: readonly StateBox[];
  /** The innermost active states. */
  readonly here: string;
  /** Where the focus was last. */
  readonly focused: Signal<string | null>;
  readonly focusOn: (box: StateBox) => void;
}

function useChartKeys({ places, here, focused, focusOn }: ChartFocus): ChartKeys {
  const boxes = places.filter(({ history }) => history === null);
  const stop =
    boxes.find(({ path }) => path === focused.value) ??
    boxes.find(({ path }) => here.split(' ').includes(path)) ??
    boxes[0];
  return {
    stop: stop?.path ?? null,
    onFocus: (path) => (focused.value = path),
    onArrow: (path, key) => {
      const from = boxes.find((box) => box.path === path);
      const to = from === undefined ? null : stateBeside(boxes, from, key);
      if (to === null) return key.startsWith('Arrow');
      focused.value = to.path;
      focusOn(to);
      return true;
    },
  };
}

/** Routes lie above the states that hold others, and below those that hold none. */
function Plates({ layout, drawing, compound, actor, visits, taken, onToggle, keys }: PlatesProps) {
  const { state } = usePage();
  const live = new Set(
    state.actors.value
      .filter(({ track, alive }) => alive && track.info.parent === actor.path)
      .map(({ track }) => track.info.src),
  );
  return (
    <>
      {layout.states
        .filter((box) => compound === holdsOthers(box))
        .flatMap((box) => [
          <StateView
            key={box.path}
            box={box}
            tone={toneOfBox(drawing, box, actor.step)}
            active={actor.active.has(box.path)}
            visits={visits.get(box.path) ?? 0}
            running={live}
            isStop={box.path === keys.stop}
            onToggle={onToggle}
            onPick={(path) => {
              const child = layout.states.find((one) => one.path === path)?.invokes[0];
              const found = state.actors.value.find(
                ({ track }) => track.info.parent === actor.path && track.info.src === child,
              );
              if (found !== undefined && found.track.info.drawing !== null) state.focus.value = found.path;
              else goToEntry(state, actor, path);
            }}
            onArrow={keys.onArrow}
            onFocus={keys.onFocus}
          />,
          <FromAnywhere key={`${box.path} notes`} box={box} active={actor.active.has(box.path)} taken={taken} />,
        ])}
    </>
  );
}

/** Goes to the step at which a state was last entered: of those up to here, else of all. */
function goToEntry(state: PageState, { path: actor, track }: ActorState, path: string): void {
  const steps = state.session.value?.steps ?? [];
  const enters = (at: number): boolean => {
    const step = steps[at];
    return step?.actor === actor && step.to.includes(path) && !step.from.includes(path);
  };
  const found =
    track.steps.findLast((at) => at <= state.position.value && enters(at)) ?? track.steps.findLast((at) => enters(at));
  if (found === undefined) return;
  goTo(state, found);
  state.focus.value = actor;
  state.tab.value = 'step';
}

/** The heads of all arrows; a route names its own. */
function Arrows() {
  const head = { viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' };
  return (
    <defs>
      {['arrow', 'arrow-lit'].map((name) => (
        <marker key={name} id={name} {...head} markerUnits="userSpaceOnUse">
          <path class={name} d="M0 0.500 8 4 0 7.500z" />
        </marker>
      ))}
    </defs>
  );
}

interface LayoutWish {
  readonly drawing: MachineDrawing;
  readonly collapsed: ReadonlySet<string>;
  readonly labels: boolean;
  readonly size: Size;
}

/**
 * The layout that is largest in its place: from left to right, or from top to bottom. While one is made, the last one of
 * the same machine stays; a text says why there is none.
 */
function useLayout({ drawing, collapsed, labels, size }: LayoutWish): ChartLayout | string | null {
  const last = useRef<{ hash: string; layout: ChartLayout } | null>(null);
  const wide = layoutOf(drawing, { collapsed, labels, direction: 'RIGHT' }).value;
  const tall = layoutOf(drawing, { collapsed, labels, direction: 'DOWN' }).value;
  const fit = (layout: ChartLayout): number => fitCamera(layout, size, TOP).zoom;
  const best =
    wide === null || typeof wide === 'string' || tall === null || typeof tall === 'string'
      ? (wide ?? tall)
      : fit(wide) >= fit(tall) * 0.9
        ? wide
        : tall;
  if (best !== null && typeof best !== 'string') last.current = { hash: drawing.hash, layout: best };
  if (best !== null) return best;
  return last.current?.hash === drawing.hash ? last.current.layout : null;
}

interface ChartToolsProps {
  readonly camera: Camera | null;
  readonly view: Size;
  /** Null fits the drawing to its place again. */
  readonly onCamera: (camera: Camera | null) => void;
  /** Zooms to the state that has the focus, else to the active one. */
  readonly onNear: () => void;
}

/** Zoom, fit, follow, labels. */
function ChartTools({ camera, view, onCamera, onNear }: ChartToolsProps) {
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

interface ToggleProps {
  readonly on: Signal<boolean>;
  readonly label: string;
  readonly title: string;
}

function Toggle({ on, label, title }: ToggleProps) {
  return (
    <Button look="quiet" title={title} aria-pressed={on.value} onClick={() => (on.value = !on.value)}>
      {label}
    </Button>
  );
}
