import { useRef } from 'preact/hooks';
import type { MachineDrawing } from '../../../frames/protocol.ts';
import { type Size, fitCamera } from '../../chart/camera.ts';
import type { ChartLayout } from '../../../layout/chart-layout.ts';
import { usePage } from '../../state/page-context.ts';

interface LayoutWish {
  readonly drawing: MachineDrawing;
  readonly collapsed: ReadonlySet<string>;
  readonly labels: boolean;
  readonly size: Size;
  readonly top: number;
}

/**
 * The layout that is largest in its place: from left to right, or from top to bottom. While one is made, the last one of
 * the same machine stays; a text says why there is none.
 */
export function useLayout({ drawing, collapsed, labels, size, top }: LayoutWish): ChartLayout | string | null {
  const { layouts } = usePage();
  const last = useRef<{ hash: string; layout: ChartLayout } | null>(null);
  const wide = layouts.of(drawing, { collapsed, labels, direction: 'RIGHT' }).value;
  const tall = layouts.of(drawing, { collapsed, labels, direction: 'DOWN' }).value;
  const fit = (layout: ChartLayout): number => fitCamera(layout, size, top).zoom;
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
