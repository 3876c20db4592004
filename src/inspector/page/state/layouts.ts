import { type Signal, signal } from '@preact/signals';
import type { MachineDrawing } from '../../frames/protocol.ts';
import { type ChartLayout, type ChartStyle, layoutKey } from '../../layout/chart-layout.ts';
import { layoutMachine } from '../../layout/layout-machine.ts';
import { isJsonObject } from '../../../json/json.ts';

declare global {
  /** What the files of layouts hold, by name: in a saved page, which cannot fetch anything. */
  var signalboxLayouts: Readonly<Record<string, unknown>> | undefined;
}

const layouts = new Map<string, Signal<ChartLayout | string | null>>();

/**
 * The layout of a drawing; null while it is made, a text when it cannot be. Each is made once. Those of our own machines come
 * with the page; the build lets `layoutMachine` load the engine for the first drawing that is not among them.
 */
export function layoutOf(drawing: MachineDrawing, style: ChartStyle): Signal<ChartLayout | string | null> {
  const key = layoutKey(drawing.hash, style);
  const before = layouts.get(key);
  if (before !== undefined) return before;
  const made = signal<ChartLayout | string | null>(null);
  layouts.set(key, made);
  void make(key, drawing, style).then((layout) => {
    made.value = layout;
  });
  return made;
}

/** Asks for what nearly every run needs, before the first is there. */
export function prepareLayouts(): void {
  for (const name of ['layouts', 'layouts-agent']) fetched(name).catch(() => undefined);
}

async function make(key: string, drawing: MachineDrawing, style: ChartStyle): Promise<ChartLayout | string> {
  try {
    const shipped = await ownLayouts(drawing.hash);
    const own: unknown = isJsonObject(shipped) ? shipped[key] : undefined;
    if (isLayout(own)) return own;
    return await layoutMachine(drawing, style);
  } catch (error) {
    return error instanceof Error ? error.message : 'The layout engine failed.';
  }
}

/** The layouts of one of our own machines, made when the page was built, by layout key; null for a machine that is not ours. */
async function ownLayouts(hash: string): Promise<unknown> {
  const known = await fetched('layouts');
  const name: unknown = Reflect.get(Object(known), hash);
  return typeof name === 'string' ? fetched(`layouts-${name}`) : null;
}

const fetches = new Map<string, Promise<unknown>>();

/** What could not be read is asked for again. */
async function fetched(name: string): Promise<unknown> {
  if (globalThis.signalboxLayouts !== undefined) return globalThis.signalboxLayouts[name];
  const before = fetches.get(name);
  if (before !== undefined) return before;
  const asked = fetch(`assets/${name}.json`).then((response): Promise<unknown> => response.json());
  fetches.set(name, asked);
  asked.catch(() => fetches.delete(name));
  return asked;
}

/** Shipped layouts are written by our own build. */
function isLayout(value: unknown): value is ChartLayout {
  return isJsonObject(value) && Array.isArray(value.states) && Array.isArray(value.routes);
}
