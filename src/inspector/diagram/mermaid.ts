import type { AnyStateMachine } from 'xstate';
import { drawMachine } from '../frames/drawing.ts';
import { type StateDrawing, statesIn, type TransitionDrawing } from '../frames/protocol.ts';
import { historySign, type TextStyle, transitionText } from '../layout/chart-layout.ts';

/**
 * Draws a machine as a Mermaid `stateDiagram-v2`. An arrow is labelled `EVENT [guard] / action`. A transition that leaves a
 * composite state is drawn from that state's border, because Mermaid draws none between the insides of two states; transitions
 * with the same ends share an arrow. Parallel regions are separated by a dashed line; a history state is `H` or `H*`.
 */
export function mermaid(machine: AnyStateMachine, style: TextStyle = {}): string {
  const { id, root } = drawMachine(machine);
  const ids = idsOf(root);
  const whole: Sketch = { ids, style };
  if (root.type !== 'parallel')
    return ['stateDiagram-v2', ...inside(root, '  ', whole), ...fromAnywhere(root, '  ', whole)].join('\n');
  // Only what stands in a state can be divided.
  const lines = [...inside(root, '    ', whole), ...fromAnywhere(root, '    ', whole)];
  return ['stateDiagram-v2', `  state "${escaped(id)}" as ${ids.get('') ?? 'machine'} {`, ...lines, '  }'].join('\n');
}

interface Sketch {
  /** Mermaid's id of each state, by its path. */
  readonly ids: ReadonlyMap<string, string>;
  readonly style: TextStyle;
}

function inside(parent: StateDrawing, indent: string, sketch: Sketch): readonly string[] {
  if (parent.type === 'parallel') return regions(parent, indent, sketch);
  const { children } = parent;
  const first = children.find((child) => parent.initial !== null && isIn(parent.initial, child)) ?? children[0];
  const entry = first === undefined ? [] : [`${indent}[*] --> ${idOf(first, sketch)}`];
  const ends = children
    .filter(({ type }) => type === 'final')
    .map((child) => `${indent}${idOf(child, sketch)} --> [*]`);
  return [
    ...entry,
    ...children.flatMap((child) => stateLines(child, indent, sketch)),
    ...arrows(children, indent, sketch),
    ...ends,
  ];
}

/** What declares a state: nothing for one without children whose name is its id. */
function stateLines(state: StateDrawing, indent: string, sketch: Sketch): readonly string[] {
  const id = idOf(state, sketch);
  const name = state.type === 'history' ? historySign(state) : state.name;
  const head = name === id ? `state ${id}` : `state "${escaped(name) || ' '}" as ${id}`;
  if (state.children.length > 0) return [`${indent}${head} {`, ...inside(state, `${indent}  `, sketch), `${indent}}`];
  return name === id ? [] : [`${indent}${head}`];
}

/** Arrows between two regions would move a state out of its own region: they are listed in a note. */
function regions(parent: StateDrawing, indent: string, sketch: Sketch): readonly string[] {
  return parent.children.flatMap((region, index) => {
    const lines = stateLines(region, indent, sketch);
    const own = arrows([region], indent, sketch);
    const away = statesIn(region).flatMap((state) =>
      state.transitions
        .filter(({ target }) => target !== null && isIn(target, parent) && !isIn(target, region))
        .map((transition) => `${textOf(transition, state, sketch)} → ${escaped(transition.target ?? '')}`.trim()),
    );
    const id = idOf(region, sketch);
    const noted = away.length === 0 ? [] : [`${indent}note right of ${id} : ${away.join('<br/>')}`];
    const shown = lines.length + own.length === 0 ? [`${indent}${id}`] : lines;
    return [...(index === 0 ? [] : [`${indent}--`]), ...shown, ...own, ...noted];
  });
}

/** The arrows between these siblings, of every transition in or below them. */
function arrows(siblings: readonly StateDrawing[], indent: string, sketch: Sketch): readonly string[] {
  const labels = new Map<string, Set<string>>();
  for (const from of siblings) {
    for (const state of statesIn(from)) {
      for (const transition of state.transitions) {
        const { target } = transition;
        const to = siblings.find((sibling) => target !== null && isIn(target, sibling));
        if (to === undefined || (to === from && state !== from)) continue;
        const arrow = `${idOf(from, sketch)} --> ${idOf(to, sketch)}`;
        const text = [textOf(transition, state, sketch), ...remembered(to, target)].join(' ').trim();
        labels.set(arrow, (labels.get(arrow) ?? new Set()).add(text));
      }
    }
  }
  return [...labels].map(([arrow, texts]) => {
    const text = [...texts].filter((label) => label !== '').join('<br/>');
    return `${indent}${arrow}${text === '' ? '' : ` : ${text}`}`;
  });
}

/** Where an arrow that ends at a border leads, if that is a history state inside. */
function remembered(to: StateDrawing, target: string | null): readonly string[] {
  const found = statesIn(to).find(({ path, type }) => path === target && type === 'history');
  return found === undefined || found === to ? [] : [`→ ${historySign(found)}`];
}

/** What the machine's root listens to: it holds in every state. */
function fromAnywhere(root: StateDrawing, indent: string, sketch: Sketch): readonly string[] {
  return root.children.flatMap((state) => {
    const labels = root.transitions
      .filter(({ target }) => target !== null && isIn(target, state))
      .map((transition) =>
        transition.target === state.path
          ? textOf(transition, root, sketch)
          : `${textOf(transition, root, sketch)} → ${escaped(transition.target ?? '')}`,
      );
    return labels.length === 0
      ? []
      : [`${indent}note right of ${idOf(state, sketch)} : from any other state<br/>${labels.join('<br/>')}`];
  });
}

function textOf(transition: TransitionDrawing, state: StateDrawing, { style }: Sketch): string {
  return escaped(transitionText(transition, state, style));
}

function isIn(path: string, { path: around }: StateDrawing): boolean {
  return around === '' || path === around || path.startsWith(`${around}.`);
}

/**
 * A state's name if Mermaid can read it and no state further out has it, else its path. `_start` and `_end` at its end would be
 * Mermaid's own dots of the state whose name is before it.
 */
function idsOf(root: StateDrawing): ReadonlyMap<string, string> {
  const levels = statesIn(root).toSorted((one, other) => depthOf(one) - depthOf(other));
  const taken = new Set<string>();
  return new Map(
    levels.map(({ path, name, type }) => {
      const plain =
        type !== 'history' && /^[A-Z]\w*$/i.test(name) && !WORDS.has(name.toLowerCase()) && !taken.has(name);
      const own = plain && path !== '' ? name : `s_${path.replaceAll(/\W/g, '_')}`;
      const wish = own.replace(/(?<!^s)_(start|end)$/, '$&_');
      let id = wish;
      for (let more = 2; taken.has(id); more++) id = `${wish}_${more}`;
      taken.add(id);
      return [path, id];
    }),
  );
}

function depthOf({ path }: StateDrawing): number {
  return path === '' ? 0 : path.split(/(?<!\\)\./).length;
}

/** Words that mean something to Mermaid where a name could stand. */
const WORDS: ReadonlySet<string> = new Set(
  'state note end direction class classdef style as hide scale default click href root acctitle accdescr statediagram'
    .concat(' s constructor tostring hasownproperty')
    .split(' '),
);

function idOf({ path }: StateDrawing, { ids }: Sketch): string {
  return ids.get(path) ?? path;
}

/** Mermaid ends a text at `:`, `;` and the end of a line, and reads `<` and `#`. */
function escaped(text: string): string {
  return text.replaceAll(/[#;:<>"{}]/g, (sign) => `#${sign.codePointAt(0)};`).replaceAll(/\s+/g, ' ');
}
