import { expect, test } from 'vitest';
import { createMachine } from 'xstate';
import { drawMachine } from '../../../src/inspector/frames/drawing.ts';
import {
  arrowText,
  autoCollapsed,
  routePath,
  fitCamera,
  keepInSight,
  zoomAt,
} from '../../../src/inspector/page/model/chart.ts';
import type { ChartStyle } from '../../../src/inspector/layout/chart-layout.ts';
import { layoutMachine } from '../../../src/inspector/layout/layout-machine.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { toolCallMachine } from '../../../src/machines/tool-call/tool-call.ts';

const PLAIN: ChartStyle = { collapsed: new Set(), direction: 'RIGHT', labels: false };
const agent = drawMachine(agentMachine);
const toolCall = drawMachine(toolCallMachine);

test('every state of a machine has a place inside that of its parent', async () => {
  const { states } = await layoutMachine(agent, PLAIN);
  const boxes = new Map(states.map((box) => [box.path, box]));

  expect(boxes.has('PLANNING.ASKING')).toBe(true);
  for (const box of states) {
    const parent = boxes.get(box.path.slice(0, Math.max(0, box.path.lastIndexOf('.'))));
    if (parent === undefined) continue;
    expect(box.x).toBeGreaterThanOrEqual(parent.x);
    expect(box.x + box.width).toBeLessThanOrEqual(parent.x + parent.width);
  }
});

test('a state that is shut hides what is in it, however deep', async () => {
  const { states, entrances } = await layoutMachine(agent, { ...PLAIN, collapsed: new Set(['PLANNING']) });
  const paths = states.map(({ path }) => path);
  expect(paths).toContain('PLANNING');
  expect(paths.filter((path) => path.startsWith('PLANNING.'))).toEqual([]);
  expect(entrances.length).toBeGreaterThan(0);
});

test('a state has room for its whole name, however long, also where names are large because the whole is small', async () => {
  const long = createMachine({
    id: 'long',
    initial: 'WAITING_FOR_SOMEBODY_TO_CONFIRM_IT',
    states: { WAITING_FOR_SOMEBODY_TO_CONFIRM_IT: {} },
  });
  for (const drawing of [agent, toolCall, drawMachine(long)])
    for (const { name, width, collapsed } of (await layoutMachine(drawing, PLAIN)).states)
      // The lamp before it takes 26; a letter of 15 pixels in fixed pitch is 9.03 wide.
      expect(26 + (name.length + (collapsed ? 2 : 0)) * 9.03).toBeLessThan(width - 6);
});

test('states beside each other do not overlap', async () => {
  const { states } = await layoutMachine(toolCall, PLAIN);
  const top = states.filter(({ path }) => !path.includes('.'));
  for (const one of top)
    for (const other of top)
      if (one !== other) {
        const apart = one.x >= other.x + other.width || other.x >= one.x + one.width;
        expect(apart || one.y >= other.y + other.height || other.y >= one.y + one.height).toBe(true);
      }
});

test('every transition that leads somewhere is on a route or named at its target', async () => {
  const { states, routes } = await layoutMachine(agent, PLAIN);
  const drawn = new Set([
    ...routes.flatMap(({ transitions }) => transitions),
    ...states.flatMap(({ fromAnywhere }) => fromAnywhere.map(({ transition }) => transition)),
  ]);
  const all = (state: typeof agent.root): readonly string[] => [
    ...state.transitions.flatMap(({ id, target }) => (target === null ? [] : [id])),
    ...state.children.flatMap(all),
  ];

  expect(all(agent.root).filter((id) => !drawn.has(id))).toEqual([]);
});

test('a closed state hides its children, and their arrows begin at its border', async () => {
  const { states, routes } = await layoutMachine(toolCall, { ...PLAIN, collapsed: new Set(['RECOVERING']) });

  expect(states.some(({ path }) => path.startsWith('RECOVERING.'))).toBe(false);
  expect(states.find(({ path }) => path === 'RECOVERING')?.collapsed).toBe(true);
  expect(routes.some(({ source, target }) => source === 'RECOVERING' && target === 'RUNNING')).toBe(true);
});

test('labels have room of their own when they are asked for', async () => {
  const plain = await layoutMachine(agent, PLAIN);
  const labelled = await layoutMachine(agent, { ...PLAIN, labels: true });

  expect(labelled.width).toBeGreaterThan(plain.width);
  expect(labelled.routes.every(({ label }) => label !== null)).toBe(true);
  const said = labelled.routes.flatMap(({ label }) => label?.lines.map(({ text }) => text) ?? []);
  expect(said).toContain('[no plan steps left] / close plan');
});

test('a label that is too long ends in an ellipsis, and its whole text is kept; nothing is lost where there are many', async () => {
  const { routes, states } = await layoutMachine(agent, { ...PLAIN, labels: true });
  const cut = routes.flatMap(({ label }) => label?.lines.filter(({ text }) => text.endsWith('…')) ?? []);
  expect(cut.length).toBeGreaterThan(0);
  for (const { text, whole } of cut) {
    expect(text.length).toBeLessThanOrEqual(42);
    expect(whole?.startsWith(text.slice(0, -1))).toBe(true);
  }
  const more = routes.flatMap(({ label }) => label?.lines.filter(({ text }) => text.endsWith(' more')) ?? []);
  expect(more.some(({ whole }) => whole?.includes('[answered] / end as answer') === true)).toBe(true);
  expect(states.find(({ path }) => path === 'COMPLETION')?.fromAnywhere.map(({ text }) => text)).toContain(
    'run.cancelled / end cancelled',
  );
});

test('any machine is laid out: parallel regions, history, self transitions, names of any kind', async () => {
  const machine = createMachine({
    id: 'any',
    type: 'parallel',
    states: {
      'a b': { initial: 'on', states: { on: { on: { x: 'on', y: 'off' } }, off: {}, back: { type: 'history' } } },
      '<script>': { initial: 'q', states: { q: { after: { 10: 'w' } }, w: { always: 'q' } } },
    },
  });
  const { states, routes } = await layoutMachine(drawMachine(machine), PLAIN);

  expect(states.map(({ path }) => path)).toContain('<script>.w');
  const back = states.find(({ path }) => path === 'a b.back');
  expect(back).toMatchObject({ kind: 'history', history: 'H' });
  expect(back?.width).toBe(back?.height);
  expect(routes.find(({ source }) => source === 'a b.back')).toMatchObject({ target: 'a b.on', lines: [{ text: '' }] });
  expect(states.filter(({ region }) => region).map(({ path }) => path)).toEqual(['a b', '<script>']);
});

test('large machines keep closed what nobody has entered; small ones are drawn whole', () => {
  expect([...autoCollapsed(toolCall, new Set())]).toContain('RECOVERING');
  expect([...autoCollapsed(toolCall, new Set(['RECOVERING']))]).not.toContain('RECOVERING');
});

test('a transition reads as a line', () => {
  const id = agent.root.children.find(({ name }) => name === 'PLANNING')?.children[0]?.transitions[0]?.id ?? '';

  expect(arrowText(agent, id)).toBe('PLANNING.CHECKING_BUDGET → COMPLETION');
  expect(arrowText(agent, 'gone')).toBe('gone');
});

test('tracks turn at 45 degrees', () => {
  const path = routePath([
    { x: 0, y: 0 },
    { x: 20, y: 0 },
    { x: 20, y: 20 },
  ]);

  expect(path).toBe('M0 0L13 0L20 7L20 20');
});

test('fitting shows the whole drawing, zooming keeps the point under the pointer', () => {
  const view = { width: 800, height: 400 };
  const camera = fitCamera({ width: 2000, height: 300 }, view, 40);
  expect(camera.x + 2000 * camera.zoom).toBeLessThanOrEqual(800);

  const closer = zoomAt(camera, 2, { x: 100, y: 100 });
  expect((100 - closer.x) / closer.zoom).toBeCloseTo((100 - camera.x) / camera.zoom);
});

test('following moves the camera only when the active state is out of sight', () => {
  const view = { width: 400, height: 300 };
  const camera = { x: 0, y: 0, zoom: 1 };

  expect(keepInSight(camera, { x: 100, y: 100, width: 80, height: 30 }, view)).toEqual(camera);
  expect(keepInSight(camera, { x: 900, y: 100, width: 80, height: 30 }, view).x).toBe(-620);
});

/** A ring of states, each with a shortcut: its arrows are longer, the more states there are. */
const ring = (count: number) =>
  drawMachine(
    createMachine({
      id: 'ring',
      initial: 'S0',
      states: Object.fromEntries(
        Array.from({ length: count }, (_, n) => [
          `S${n}`,
          { on: { next: `S${(n + 1) % count}`, jump: `S${(n * 7) % count}` } },
        ]),
      ),
    }),
  );

/** A state that leads to each of many others, and back. */
const star = (count: number) => {
  const leaves = Array.from({ length: count }, (_, n) => `L${n}`);
  const on = Object.fromEntries(leaves.map((leaf) => [leaf, leaf]));
  const states = Object.fromEntries(leaves.map((leaf) => [leaf, { on: { back: 'HUB' } }]));
  return drawMachine(createMachine({ id: 'star', initial: 'HUB', states: { HUB: { on }, ...states } }));
};

test.each([
  ['40 states with shortcuts', ring(40), 40],
  ['60 states around one', star(60), 61],
])('%s are laid out', async (_, drawing, count) => {
  expect((await layoutMachine(drawing, PLAIN)).states).toHaveLength(count);
});

test('a machine whose arrows are too many and too long is said to be too large, at once', async () => {
  await expect(layoutMachine(ring(300), PLAIN)).rejects.toMatchObject({
    code: 'drawing-too-large',
    message: '300 states and 600 arrows are too many for one drawing.',
  });
});
