// The lines between the map's lanes and the names of its groups, on the 2D canvas over the picture.

import type { MapLanesAnswer } from '../../../../extension/shared/protocol.gen';
import type { OverlayModel } from '../render/model';
import { toPixelY } from '../../canvas/camera';
import { css } from '../../canvas/colour';
import { groupName } from '../scene/lanes';

/** Lanes lower than this have no line of their own. */
const LEAST_PX = 5;

export function drawLanes(context: CanvasRenderingContext2D, model: OverlayModel, all: MapLanesAnswer): void {
  const { camera, plot, scale, theme } = model;
  const width = plot.width / scale;
  const height = plot.height / scale;
  const yOf = (y: number): number => toPixelY(camera, plot, y) / scale;
  context.lineWidth = 1 / scale;
  context.strokeStyle = css(theme.grid, theme.contrast ? 0.5 : 0.16);
  context.beginPath();
  for (const lane of all.lanes) {
    const low = yOf(lane.y);
    const high = yOf(lane.y + lane.size_bytes);
    if (high > height || low < 0 || low - high < LEAST_PX) continue;
    for (const y of [low, high]) {
      const crisp = (Math.floor(y * scale) + 0.5) / scale;
      context.moveTo(0, crisp);
      context.lineTo(width, crisp);
    }
  }
  context.stroke();
  const plain = all.groups.length === 1 && all.groups[0]?.pool === null && all.groups[0].known;
  if (plain) return;
  context.textAlign = 'left';
  for (const group of all.groups) {
    const low = Math.min(yOf(group.y), height);
    const high = Math.max(yOf(group.y + group.height), 0);
    if (low - high < 2) continue;
    const text = groupName(group);
    const wide = context.measureText(text).width + 12;
    const top = Math.max(Math.min(high, low - 17), 0);
    context.fillStyle = css(theme.background, theme.contrast ? 1 : 0.85);
    context.fillRect(0, top, wide, 17);
    context.fillStyle = css(theme.foreground);
    context.fillText(text, 6, top + 9);
    context.strokeStyle = css(theme.foreground, theme.contrast ? 1 : 0.5);
    context.beginPath();
    context.moveTo(0, (Math.floor(high * scale) + 0.5) / scale);
    context.lineTo(width, (Math.floor(high * scale) + 0.5) / scale);
    context.stroke();
  }
}
