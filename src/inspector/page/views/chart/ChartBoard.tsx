import type { MachineDrawing } from '../../../frames/protocol.ts';
import {
  type ActorState,
  actorText,
  actorTitle,
  crumbsOf,
  innermost,
  labelAt,
  movedActor,
  NO_VISITS,
  visitsAt,
} from '../../model/actor-state.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { layoutOf } from '../../state/layouts.ts';
import { usePage } from '../../state/page-state.ts';
import { ChartMain } from './ChartMain.tsx';
import { autoCollapsed, holdsOthers, routePath } from '../../model/chart.ts';
import type { ChartLayout } from '../../../layout/chart-layout.ts';
import { toneAfter, toneOfBox } from '../../model/tone.ts';
import { Empty } from '../parts/StepDetails.tsx';
import { Lamp } from '../parts/Button.tsx';

/** The panel: the chart of one actor large, and all actors that live beside it. */
export function ChartBoard() {
  const { state } = usePage();
  const drawn = state.actors.value.filter(({ track }) => track.info.drawing !== null);
  const root = drawn.find(({ track }) => track.info.parent === null);
  const session = state.session.value;
  const position = state.position.value;
  const step = session?.steps[position];
  const moved = session === null || !state.follow.value ? null : movedActor(session, step);
  const actor = drawn.find(({ path }) => path === (state.focus.value ?? moved)) ?? root;
  const drawing = state.model.drawingOf(actor?.track.info);
  return (
    <section class="board board-chart" aria-label="Chart">
      <div class="chart-area">
        <div class="chart-main">
          {actor !== undefined && drawing !== undefined ? (
            <ChartMain actor={actor} drawing={drawing} />
          ) : (
            <Empty why={session === null ? 'No run yet. Start one, or drop a recording here.' : 'No transition yet.'} />
          )}
          {actor !== undefined && (
            <nav class="chart-title" aria-label="Actor">
              {crumbsOf(actor.path).map((path) => (
                <button
                  key={path}
                  type="button"
                  class="crumb cut"
                  aria-current={path === actor.path}
                  onClick={() => (state.focus.value = path)}
                >
                  {escapedLine(labelAt(session, path, position), 40)}
                </button>
              ))}
            </nav>
          )}
          {step !== undefined && (
            <p class="chart-told cut" data-testid="told">
              <b>{escapedLine(step.event, 60)}</b> {escapedLine(actorText(session, step.actor, position), 80)}:{' '}
              {escapedLine(innermost(step.from).join(' + ') || '·', 80)} →{' '}
              <b>{escapedLine(innermost(step.to).join(' + '), 80)}</b>
            </p>
          )}
        </div>
        <aside class="branches" aria-label="Live actors">
          <div class="board-head">
            <h2 class="small-title">Live actors</h2>
            <span class="spring" />
            <span class="dim mono">{drawn.filter(({ alive }) => alive).length}</span>
          </div>
          <div class="scroll">
            {bySize(drawn, state.model.drawings).map((one) => (
              <Tile key={one.path} actor={one} chosen={one.path === actor?.path} />
            ))}
          </div>
        </aside>
      </div>
    </section>
  );
}

/** The root first, then the larger machines: those that say more. Equals stay in order of birth. */
function bySize(actors: readonly ActorState[], drawings: ReadonlyMap<string, MachineDrawing>): readonly ActorState[] {
  const size = ({ track }: ActorState): number =>
    track.info.parent === null ? Infinity : (drawings.get(track.info.drawing ?? '')?.root.children.length ?? 0);
  return actors.toSorted((a, b) => (size(a) === size(b) ? 0 : size(b) - size(a)));
}

/** One live actor at a glance: what it is, where it stands, and its chart too small to read but not to recognise. */
function Tile({ actor, chosen }: { readonly actor: ActorState; readonly chosen: boolean }) {
  const { state } = usePage();
  const { info } = actor.track;
  const drawing = state.model.drawingOf(info);
  const where = innermost(actor.step?.to ?? []).join(' + ');
  const session = state.session.value;
  const shown = state.talk.value;
  const { visits } = session === null ? NO_VISITS : visitsAt(session, actor.path, state.position.value);
  const layout =
    drawing === undefined
      ? null
      : layoutOf(drawing, { collapsed: autoCollapsed(drawing, visits), labels: false, direction: 'RIGHT' }).value;
  return (
    <button
      type="button"
      class={actor.alive ? 'tile' : 'tile over'}
      aria-pressed={chosen}
      onClick={() => (state.focus.value = actor.path)}
    >
      <span class="tile-top">
        <b class="cut">{escapedLine(actorTitle(actor, { whole: session?.talk ?? shown, shown }), 40)}</b>
        <span>{escapedLine(info.src, 40)}</span>
        {!actor.alive && <span>ended</span>}
      </span>
      <span class="tile-state">
        <Lamp tone={toneAfter(drawing, actor.step)} size={12} />
        <span class="cut">{actor.step === null ? 'starting' : escapedLine(where || 'no states', 80)}</span>
      </span>
      {layout !== null && typeof layout === 'object' && <MiniChart layout={layout} actor={actor} drawing={drawing} />}
    </button>
  );
}

interface MiniChartProps {
  readonly layout: ChartLayout;
  readonly actor: ActorState;
  readonly drawing: MachineDrawing | undefined;
}

function MiniChart({ layout, actor, drawing }: MiniChartProps) {
  return (
    <svg
      class="mini"
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      preserveAspectRatio="xMinYMid meet"
      aria-hidden="true"
    >
      {layout.states.map((box) => {
        const classes = [holdsOthers(box) && 'compound', actor.active.has(box.path) && 'active']
          .filter(Boolean)
          .join(' ');
        return (
          <rect
            key={box.path}
            class={classes}
            data-tone={toneOfBox(drawing, box, actor.step)}
            x={box.x}
            y={box.y}
            width={box.width}
            height={box.height}
            rx={6}
          />
        );
      })}
      {layout.routes.map((route) => (
        <path key={route.id} d={routePath(route.points)} />
      ))}
    </svg>
  );
}
