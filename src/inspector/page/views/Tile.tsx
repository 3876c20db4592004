import { autoCollapsed } from '../chart/auto-collapse.ts';
import type { ChartLayout } from '../../layout/chart-layout.ts';
import { routePath } from '../chart/route-path.ts';
import { type ActorState, innermost } from '../model/actor-state.ts';
import { actorTitle } from '../model/actor-title.ts';
import { inertLine } from '../model/inert-text.ts';
import { toneOf } from '../model/tone.ts';
import { NO_WEAR, wearAt } from '../model/wear.ts';
import { usePage } from '../state/page-context.ts';
import { Lamp } from './Icon.tsx';

/** One live actor at a glance: what it is, where it stands, and its chart too small to read but not to recognise. */
export function Tile({ actor, chosen }: { readonly actor: ActorState; readonly chosen: boolean }) {
  const { state, layouts } = usePage();
  const { info } = actor.track;
  const drawing = info.drawing === null ? undefined : state.model.drawings.get(info.drawing);
  const where = innermost(actor.step?.to ?? []).join(' + ');
  const session = state.session.value;
  const shown = state.talk.value;
  const { visits } = session === null ? NO_WEAR : wearAt(session, actor.path, state.position.value);
  const layout =
    drawing === undefined
      ? null
      : layouts.of(drawing, { collapsed: autoCollapsed(drawing, visits), labels: false, direction: 'RIGHT' }).value;
  return (
    <button
      type="button"
      class={actor.alive ? 'tile' : 'tile over'}
      aria-pressed={chosen}
      onClick={() => (state.focus.value = actor.path)}
    >
      <span class="tile-top">
        <b>{inertLine(actorTitle(actor, { whole: session?.talk ?? shown, shown }), 40)}</b>
        <span>{inertLine(info.src, 40)}</span>
        {!actor.alive && <span>ended</span>}
      </span>
      <span class="tile-state">
        <Lamp tone={toneOf(where)} size={12} />
        <span>{inertLine(where === '' ? 'starting' : where, 80)}</span>
      </span>
      {layout !== null && typeof layout === 'object' && <MiniChart layout={layout} actor={actor} />}
    </button>
  );
}

function MiniChart({ layout, actor }: { readonly layout: ChartLayout; readonly actor: ActorState }) {
  return (
    <svg
      class="mini"
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      preserveAspectRatio="xMinYMid meet"
      aria-hidden="true"
    >
      {layout.states.map((box) => {
        const compound = (box.kind === 'compound' || box.kind === 'parallel') && !box.collapsed;
        const classes = [compound && 'compound', actor.active.has(box.path) && 'active'].filter(Boolean).join(' ');
        return (
          <rect
            key={box.path}
            class={classes}
            data-tone={toneOf(box.path)}
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
