// What is drawn along an axis of time.

import type { Mark } from '../../../extension/shared/protocol.gen';

/** A mark at its place on an axis. */
export interface Flag {
  readonly x: number;
  readonly kind: Mark['kind'] | 'bookmark';
  readonly text: string;
  /** What the device had free at an out-of-memory event; null where the file doesn't say. */
  readonly free: number | null;
}

/** A moment that the user picked; `x` on the axis. */
export interface PickedMoment {
  readonly x: number;
  readonly text: string;
}

/** The most of something in even columns over `[x0, x1]` of the axis, in bytes. */
export interface Curve {
  readonly x0: number;
  readonly x1: number;
  readonly highest: Float64Array;
}
