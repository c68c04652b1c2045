/* oxlint-disable typescript/no-non-null-assertion -- indices are those of the segment's own blocks */
// A segment as a bar: blocks where they lie, what rounding takes, what waits for its free, what is free.

import type { SegmentState } from '../../../../extension/shared/protocol.gen';
import type { TimelineSession } from '../session';
import { isLeftOut, stateOf, type Blocks } from '../scene/blocks';
import type { PixelBox } from '../scene/hit';
import { css, mix, type Rgb } from '../../canvas/colour';
import { pixelRatio, pixelsOf, sharp } from '../../canvas/sharp';
import { theme } from '../../canvas/theme';

/** Hatches of what waits, in CSS pixels. */
const HATCH = 4;
/** Lines of what rounding takes, likewise. */
const LINES = 3;

export function drawBar(
  canvas: HTMLCanvasElement,
  segment: SegmentState,
  blocks: Blocks,
  coloured: BarLook,
): void {
  const scale = pixelRatio();
  const { width, height } = pixelsOf(canvas);
  const drawing = sharp(canvas, { width, height });
  if (!drawing) return;
  const look = theme.value;
  drawing.fillStyle = css(mix(look.background, look.foreground, segment.known ? 0.08 : 0));
  drawing.fillRect(0, 0, width, height);
  const perByte = width / Math.max(segment.size_bytes, 1);
  // edges are rounded on the running sum, so that blocks meet without a hole
  const edge = (at: number): number => Math.round(at * perByte);
  let mark: { from: number; to: number } | null = null;
  for (let block = segment.first_block; block < segment.first_block + segment.block_count; block++) {
    const state = stateOf(blocks, block);
    if (state === 0) continue;
    const from = blocks.offset[block]!;
    const x0 = edge(from);
    const x1 = Math.max(edge(from + blocks.size[block]!), x0 + 1);
    const used = Math.max(edge(from + Math.min(blocks.requested[block]!, blocks.size[block]!)), x0 + 1);
    drawing.fillStyle = css(colourAt(coloured, blocks, block));
    drawing.fillRect(x0, 0, used - x0, height);
    lost(drawing, { x: used, y: 0, width: x1 - used, height }, scale);
    if (state === 2) hatch(drawing, { x: x0, y: 0, width: used - x0, height }, scale);
    if (x1 - x0 >= 3 * scale) {
      drawing.fillStyle = css(look.background, look.contrast ? 1 : 0.6);
      drawing.fillRect(x0, 0, Math.max(1, scale / 2), height);
    }
    if (blocks.allocation[block] === coloured.selected) mark = { from: x0, to: x1 };
  }
  drawing.strokeStyle = css(look.foreground, look.contrast ? 1 : 0.5);
  drawing.lineWidth = scale;
  if (segment.known) drawing.strokeRect(scale / 2, scale / 2, width - scale, height - scale);
  if (!mark) return;
  drawing.strokeStyle = css(look.contrast ? look.focus : look.foreground);
  drawing.lineWidth = 2 * scale;
  drawing.strokeRect(mark.from, scale, Math.max(mark.to - mark.from, 2 * scale), height - 2 * scale);
}

interface BarLook extends Pick<TimelineSession, 'palette' | 'highlight' | 'selected'> {
  /** The colours of the picture's areas. */
  readonly colours: readonly Rgb[];
  /** Which of the areas are highlighted; null for all. */
  readonly highlighted: number | null;
}

function colourAt({ palette, highlight, ...look }: BarLook, blocks: Blocks, block: number): Rgb {
  const area = blocks.area[block]!;
  const colour = look.colours[area] ?? palette.none;
  const dim =
    isLeftOut(blocks, block) ||
    (highlight.kind === 'stacks' && !highlight.stacks.has(blocks.stack[block]!)) ||
    (look.highlighted !== null && look.highlighted !== area);
  return dim ? mix(colour, theme.value.background, 0.72) : colour;
}

/** What rounding takes, in lines across: areas have all the colours. */
function lost(drawing: CanvasRenderingContext2D, { x, width, height }: PixelBox, scale: number): void {
  drawing.fillStyle = css(theme.value.background);
  drawing.fillRect(x, 0, width, height);
  drawing.fillStyle = css(theme.value.foreground);
  for (let y = 0; y < height; y += LINES * scale) drawing.fillRect(x, y, width, scale);
}

function hatch(drawing: CanvasRenderingContext2D, { x, width, height }: PixelBox, scale: number): void {
  drawing.save();
  drawing.beginPath();
  drawing.rect(x, 0, width, height);
  drawing.clip();
  drawing.strokeStyle = css(theme.value.background);
  drawing.lineWidth = scale;
  drawing.beginPath();
  for (let from = x - height; from < x + width; from += HATCH * scale) {
    drawing.moveTo(from, height);
    drawing.lineTo(from + height, 0);
  }
  drawing.stroke();
  drawing.restore();
}
