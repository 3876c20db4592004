import elk from 'elkjs';
import type { ElkExtendedEdge, ElkNode } from 'elkjs';
import type { MachineDrawing, StateDrawing } from '../frames/protocol.ts';
import {
  type ChartLayout,
  type ChartStyle,
  type Entrance,
  type Point,
  type ChartRoute,
  type StateBox,
  type LabelLine,
  historySign,
  ellipsis,
  transitionText,
} from './chart-layout.ts';

/**
 * Lays a machine out. The engine is large, so this module is loaded only when a drawing is met that has no layout yet.
 * Rejects where the engine would take minutes, in which a page does nothing else: it has too many long arrows.
 */
export async function layoutMachine(drawing: MachineDrawing, style: ChartStyle): Promise<ChartLayout> {
  const graph = chartGraph(drawing, style);
  const bends = bendsIn(graph);
  if (bends > MOST_BENDS)
    throw tooLarge(`${graph.states.size - 1} states and ${graph.routes.size} arrows are too many for one drawing.`);
  if (bends > MANY_BENDS) Object.assign(graph.root.layoutOptions ?? {}, FAST);
  return readLayout(await new elk.default().layout(graph.root), graph);
}

/** The engine takes a second or two for a thousand bends if it is not thorough, else minutes. */
const [MANY_BENDS, MOST_BENDS] = [400, 2500];

/** About how many places of arrows are to be found: one for each column of states that an arrow passes. */
function bendsIn({ states, routes }: ChartGraph): number {
  const order = new Map([...states.keys()].map((path, index) => [path, index]));
  const columns = new Map<string, number>();
  const placeOf = (path: string): number => order.get(path) ?? 0;
  const columnOf = (path: string): number => columns.get(path) ?? 0;
  const arrows = [...routes.values()].sort((one, other) => placeOf(one.source) - placeOf(other.source));
  for (const { source, target } of arrows)
    if (placeOf(source) < placeOf(target)) columns.set(target, Math.max(columnOf(target), columnOf(source) + 1));
  return arrows.reduce((sum, { source, target }) => sum + Math.abs(columnOf(target) - columnOf(source)), 0);
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

/** Widths of one character of state names and of labels: both are set in fixed pitch, so that no DOM is needed. */
const NAME_EM = 7.8;
/** Names are larger where the whole is small. */
const FAR_NAME_EM = 9.1;
const LABEL_EM = 5.9;
/** What stands on a plate is larger where the whole is small, too. */
const FAR_LABEL_EM = 6.7;
const LABEL_LINE = 13;
/** A history state is a circle with a sign. */
const HISTORY = 30;
const MOST_LABEL_LINES = 4;
const MOST_LABEL_CHARS = 42;

/** Arrows that share both ends, before they are laid out. */
interface RoutePlan {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly transitions: readonly string[];
  readonly lines: readonly LabelLine[];
  /** The lines that a label has room for. */
  readonly shown: readonly LabelLine[];
}

/** What is to be laid out: ELK's graph, and what it does not carry. */
interface ChartGraph {
  readonly root: ElkNode;
  readonly states: ReadonlyMap<
    string,
    { readonly state: StateDrawing; readonly depth: number; readonly collapsed: boolean; readonly region: boolean }
  >;
  readonly routes: ReadonlyMap<string, RoutePlan>;
  readonly fromAnywhere: ReadonlyMap<string, readonly LabelLine[]>;
}

/** Ids of nodes: a state's path behind a mark, because the root's path is empty. */
const nodeId = (path: string): string => `s:${path}`;
/** Ids of the dots at which a level begins. */
const dotId = (path: string): string => `i:${path}`;

/** Makes ELK's graph of a drawing. */
function chartGraph(drawing: MachineDrawing, { collapsed, direction, labels }: ChartStyle): ChartGraph {
  const states = new Map<string, { state: StateDrawing; depth: number; collapsed: boolean; region: boolean }>();
  const edges: ElkExtendedEdge[] = [];
  const arrows: { from: string; to: string; line: LabelLine }[] = [];

  /** `hidden`: a state around it is shut. */
  const node = (state: StateDrawing, depth: number, { hidden = false, region = false } = {}): ElkNode => {
    const shut = collapsed.has(state.path) && state.children.length > 0;
    states.set(state.path, { state, depth, collapsed: shut, region });
    for (const transition of state.transitions) {
      if (transition.target === null) continue;
      const line = { transition: transition.id, text: transitionText(transition, state) };
      arrows.push({ from: state.path, to: transition.target, line });
    }
    if (state.children.length === 0) return { id: nodeId(state.path), ...sizeOf(state, false) };
    const inside = { hidden: hidden || shut, region: state.type === 'parallel' };
    const children = state.children.map((child) => node(child, depth + 1, inside));
    if (shut) return { id: nodeId(state.path), ...sizeOf(state, true) };
    if (state.initial !== null && state.type === 'compound' && !hidden) {
      children.unshift({ id: dotId(state.path), width: 8, height: 8 });
      edges.push({ id: `e:${state.path}`, sources: [dotId(state.path)], targets: [nodeId(state.initial)] });
    }
    const layoutOptions = {
      'elk.padding': '[top=36,left=14,bottom=14,right=14]',
      'elk.nodeSize.minimum': minimum(state),
    };
    return {
      id: nodeId(state.path),
      children,
      layoutOptions: { ...layoutOptions, 'elk.nodeSize.constraints': 'MINIMUM_SIZE' },
    };
  };

  const tree = node(drawing.root, 0);
  const visible = (path: string): string => {
    let shown = path;
    for (let at = path; at !== ''; at = parentOf(at))
      if (states.get(parentOf(at))?.collapsed === true) shown = parentOf(at);
    return shown;
  };
  const fromAnywhere = new Map<string, LabelLine[]>();
  const routes = new Map<string, { source: string; target: string; transitions: string[]; lines: LabelLine[] }>();
  for (const { from, to, line } of arrows) {
    const [source, target] = [visible(from), visible(to)];
    if (source === '' || target === '') {
      if (target !== '') fromAnywhere.set(target, [...(fromAnywhere.get(target) ?? []), cutLine(line)]);
      continue;
    }
    if (source === target && from !== to) continue;
    const id = `${source}>${target}`;
    const route = routes.get(id) ?? { source, target, transitions: [], lines: [] };
    route.transitions.push(line.transition);
    if (!route.lines.some((other) => other.text === line.text)) route.lines.push(line);
    routes.set(id, route);
  }
  for (const [id, { source, target, lines }] of routes)
    edges.push({ id, sources: [nodeId(source)], targets: [nodeId(target)], labels: labels ? [labelBox(lines)] : [] });
  for (const [path, lines] of fromAnywhere) widen(tree, path, lines);
  return {
    root: { ...tree, edges, layoutOptions: { ...OPTIONS, ...(labels ? {} : SHARED), 'elk.direction': direction } },
    states,
    routes: new Map([...routes].map(([id, route]) => [id, { id, ...route, shown: shortened(route.lines) }])),
    fromAnywhere,
  };
}

const OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.shapeCoords': 'ROOT',
  'elk.json.edgeCoords': 'ROOT',
  'elk.padding': '[top=12,left=12,bottom=12,right=12]',
  'elk.spacing.nodeNode': '16',
  'elk.spacing.edgeNode': '9',
  'elk.spacing.edgeEdge': '8',
  'elk.spacing.edgeLabel': '3',
  'elk.layered.spacing.nodeNodeBetweenLayers': '20',
  'elk.layered.spacing.edgeNodeBetweenLayers': '9',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '8',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.cycleBreaking.strategy': 'MODEL_ORDER',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
};

const tooLarge = (message: string): Error => Object.assign(new Error(message), { code: 'drawing-too-large' });

/** For drawings of many long arrows. */
const FAST = { 'elk.layered.nodePlacement.strategy': 'BRANDES_KOEPF', 'elk.layered.thoroughness': '1' };

/** Without labels, arrows run together where they can, as tracks do. */
const SHARED = { 'elk.layered.mergeEdges': 'true', 'elk.layered.mergeHierarchyEdges': 'true' };

function parentOf(path: string): string {
  return path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : '';
}

function sizeOf(state: StateDrawing, collapsed: boolean): { width: number; height: number } {
  if (state.type === 'history') return { width: HISTORY, height: HISTORY };
  const chars = state.name.length + (collapsed ? 2 : 0);
  const name = Math.max(chars * NAME_EM + 62, chars * FAR_NAME_EM + 36);
  const invokes = state.invokes.map(({ src }) => src.length * LABEL_EM + 34);
  return { width: Math.ceil(Math.max(name, ...invokes)), height: 30 + state.invokes.length * LABEL_LINE };
}

function minimum(state: StateDrawing): string {
  return `(${Math.ceil(state.name.length * NAME_EM) + 72},56)`;
}

function shortened(lines: readonly LabelLine[]): readonly LabelLine[] {
  const cut = lines.map(cutLine);
  const more = cut.slice(MOST_LABEL_LINES - 1);
  const [first] = more;
  if (cut.length <= MOST_LABEL_LINES || first === undefined) return cut;
  const whole = lines.slice(MOST_LABEL_LINES - 1).map(({ text }) => text);
  const last = { transition: first.transition, text: `and ${more.length} more`, whole: whole.join('; ') };
  return [...cut.slice(0, MOST_LABEL_LINES - 1), last];
}

function cutLine(line: LabelLine): LabelLine {
  const text = ellipsis(line.text, MOST_LABEL_CHARS);
  return text === line.text ? line : { transition: line.transition, text, whole: line.text };
}

function labelBox(lines: readonly LabelLine[]) {
  const shown = shortened(lines);
  const width = Math.ceil(Math.max(...shown.map(({ text }) => text.length)) * LABEL_EM) + 10;
  return {
    text: ' ',
    width,
    height: shown.length * LABEL_LINE + 3,
    layoutOptions: { 'elk.edgeLabels.placement': 'CENTER', 'elk.edgeLabels.inline': 'true' },
  };
}

/** Makes room in a leaf for the list of what leads there from anywhere. */
function widen(tree: ElkNode, path: string, lines: readonly LabelLine[]): void {
  const found = find(tree, nodeId(path));
  if (found === null || found.children !== undefined) return;
  found.height = (found.height ?? 32) + lines.length * LABEL_LINE + 4;
  found.width = Math.max(found.width ?? 0, Math.max(...lines.map(({ text }) => text.length + 2)) * FAR_LABEL_EM + 20);
}

function find(tree: ElkNode, id: string): ElkNode | null {
  if (tree.id === id) return tree;
  for (const child of tree.children ?? []) {
    const found = find(child, id);
    if (found !== null) return found;
  }
  return null;
}
