// What a turn of the wheel means.

export interface WheelTurn {
  /** Zoom factors about the cursor; 1 leaves an axis alone. */
  readonly zoomX: number;
  readonly zoomY: number;
  /** Sideways scrolling of a touchpad, in CSS pixels. */
  readonly panX: number;
}

interface WheelLike {
  readonly deltaX: number;
  readonly deltaY: number;
  readonly deltaMode: number;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

/** CSS pixels to a line and to a page, for mice that count in those. */
const MODES = [1, 18, 400];
/** A usual notch of 100 pixels zooms by about a fifth. */
const PER_PIXEL = 0.0019;
/** A pinch on a touchpad comes as small wheel turns with Ctrl. */
const PINCH_PER_PIXEL = 0.008;
const MOST_AT_ONCE = 0.7;

/** Plain: zoom x. With Shift: zoom y. With Ctrl or Cmd (also a pinch): both. Sideways: pan. */
export function wheelTurn(event: WheelLike): WheelTurn {
  const unit = MODES[event.deltaMode] ?? 1;
  const both = event.ctrlKey || event.metaKey;
  const sideways = !event.shiftKey && !both && Math.abs(event.deltaX) > Math.abs(event.deltaY);
  if (sideways) return { zoomX: 1, zoomY: 1, panX: event.deltaX * unit };
  // Some systems turn the wheel sideways themselves while Shift is down.
  const delta = (event.deltaY || event.deltaX) * unit;
  const pinch = event.ctrlKey && Math.abs(delta) < 40;
  const exponent = delta * (pinch ? PINCH_PER_PIXEL : PER_PIXEL);
  const factor = Math.exp(Math.min(Math.max(exponent, -MOST_AT_ONCE), MOST_AT_ONCE));
  return { zoomX: event.shiftKey && !both ? 1 : factor, zoomY: event.shiftKey || both ? factor : 1, panX: 0 };
}
