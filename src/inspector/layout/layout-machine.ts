import elk from 'elkjs';
import type { MachineDrawing } from '../frames/protocol.ts';
import { type ChartStyle, chartGraph } from './chart-graph.ts';
import type { ChartLayout } from './chart-layout.ts';
import { readLayout } from './read-layout.ts';

/**
 * Lays a machine out. The engine is large, so this module is loaded only when a drawing is met that has no layout yet.
 * Never fails for a drawing that XState accepts; rejects with the engine's error otherwise.
 */
export async function layoutMachine(drawing: MachineDrawing, style: ChartStyle): Promise<ChartLayout> {
  const graph = chartGraph(drawing, style);
  return readLayout(await new elk.default().layout(graph.root), graph);
}
