import elk from 'elkjs';
import type { ElkExtendedEdge, ElkNode } from 'elkjs';
import type { MachineDrawing } from '../frames/protocol.ts';
import { type ChartGraph, chartGraph, dotId } from './chart-graph.ts';
import type { ChartLayout, ChartStyle, Entrance, Point, ChartRoute, StateBox } from './chart-layout.ts';
import { historySign } from './transition-text.ts';

/**
 * Lays a machine out. The engine is large, so this module is loaded only when a drawing is met that has no layout yet.
 * Never fails for a drawing that XState accepts; rejects with the engine's error otherwise.
 */
export async function layoutMachine(drawing: MachineDrawing, style: ChartStyle): Promise<ChartLayout> {
  const graph = chartGraph(drawing, style);
  return readLayout(await new elk.default().layout(graph.root), graph);
}

/** Reads what ELK has laid out back into a drawing. All coordinates are those of the whole drawing. */
function readLayout(laid: ElkNode, graph: ChartGraph): ChartLayout {
  const states: StateBox[] = [];
  const routes: ChartRoute[] = [];
  const entrances: Entrance[] = [];
  const dots = new Map<string, Point>();

  const visit = (node: ElkNode): void => {
    const { id, x = 0, y = 0, width = 0, height = 0 } = node;
    const path = id.slice(2);
    if (id.startsWith('i:')) dots.set(id, { x: x + width / 2, y: y + height / 2 });
    else if (path !== '') {
      const known = graph.states.get(path);
      if (known !== undefined) {
        const { state, depth, collapsed, region } = known;
        const { name, type: kind, invokes } = state;
        const fromAnywhere = graph.fromAnywhere.get(path) ?? [];
        const history = kind === 'history' ? historySign(state) : null;
        const box = { path, name, x, y, width, height, depth, kind, collapsed, region, history, fromAnywhere };
        states.push({ ...box, invokes: invokes.map(({ src }) => src) });
      }
    }
    for (const child of node.children ?? []) visit(child);
  };
  visit(laid);

  for (const edge of edgesOf(laid)) {
    const points = pointsOf(edge);
    const plan = graph.routes.get(edge.id);
    if (plan === undefined) {
      const dot = dots.get(dotId(edge.id.slice(2)));
      if (dot !== undefined) entrances.push({ dot, points });
      continue;
    }
    const [label] = edge.labels ?? [];
    const { x = 0, y = 0, width = 0 } = label ?? {};
    const { shown, ...route } = plan;
    routes.push({ ...route, points, label: label === undefined ? null : { x, y, width, lines: shown } });
  }
  return { width: laid.width ?? 0, height: laid.height ?? 0, states, routes, entrances };
}

function edgesOf(node: ElkNode): readonly ElkExtendedEdge[] {
  return [...(node.edges ?? []), ...(node.children ?? []).flatMap(edgesOf)];
}

function pointsOf(edge: ElkExtendedEdge): readonly Point[] {
  return (edge.sections ?? []).flatMap(({ startPoint, bendPoints = [], endPoint }) => [
    startPoint,
    ...bendPoints,
    endPoint,
  ]);
}
