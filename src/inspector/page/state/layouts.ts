import { type Signal, signal } from '@preact/signals';
import type { MachineDrawing } from '../../frames/protocol.ts';
import { type ChartLayout, type ChartStyle, layoutKey } from '../../layout/chart-layout.ts';
import { layoutMachine } from '../../layout/layout-machine.ts';
import { isJsonObject } from '../../../json/json.ts';

/** Layouts as they become known. Asking for one that is not there yet makes it. */
export interface Layouts {
  /** The layout of a drawing; null while it is made, a text when it cannot be. */
  of(drawing: MachineDrawing, style: ChartStyle): Signal<ChartLayout | string | null>;
}

/**
 * Keeps layouts by drawing and style. Those of our own machines come with the page; the build
 * lets `layoutMachine` load the engine for the first drawing that is not among them.
 */
export function layouts(shipped: (hash: string) => Promise<unknown>): Layouts {
  const known = new Map<string, Signal<ChartLayout | string | null>>();
  return {
    of: (drawing, style) => {
      const key = layoutKey(drawing.hash, style);
      const before = known.get(key);
      if (before !== undefined) return before;
      const made = signal<ChartLayout | string | null>(null);
      known.set(key, made);
      void make(shipped(drawing.hash), key, drawing, style).then((layout) => {
        made.value = layout;
      });
      return made;
    },
  };
}

async function make(
  ready: Promise<unknown>,
  key: string,
  drawing: MachineDrawing,
  style: ChartStyle,
): Promise<ChartLayout | string> {
  try {
    const shipped = await ready;
    const own: unknown = isJsonObject(shipped) ? shipped[key] : undefined;
    if (isLayout(own)) return own;
    return await layoutMachine(drawing, style);
  } catch (error) {
    return error instanceof Error ? error.message : 'The layout engine failed.';
  }
}

/** Shipped layouts are written by our own build. */
function isLayout(value: unknown): value is ChartLayout {
  return isJsonObject(value) && Array.isArray(value.states) && Array.isArray(value.routes);
}
