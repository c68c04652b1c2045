// How keys and commands zoom and move a picture over time.

import { fitAll, panBy, zoomAt, type Camera, type Extent } from '../canvas/camera';
import type { Action } from '../../../extension/shared/commands';
import { t } from '../base/l10n';
import type { CommandOf } from './command';
import type { KeyRow } from './key-table';

const ZOOM = 1.5;

const STEP = 0.15;

const FAR = 0.9;

type Factors = readonly [x: number, y: number];

type MoveRow = Pick<CommandOf, 'palette' | 'list'> &
  Required<KeyRow<Action>> & { readonly zoom?: Factors; readonly pan?: Factors };

/** What zooms by factors, or moves by shares of the view. */
export const MOVES: readonly MoveRow[] = [
  { action: 'left', keys: ['ArrowLeft'], text: t('Move left'), pan: [-STEP, 0] },
  { action: 'right', keys: ['ArrowRight'], text: t('Move right'), pan: [STEP, 0] },
  { action: 'up', keys: ['ArrowUp'], text: t('Move up'), pan: [0, STEP] },
  { action: 'down', keys: ['ArrowDown'], text: t('Move down'), pan: [0, -STEP] },
  { action: 'farLeft', keys: ['Shift+ArrowLeft', 'PageUp'], text: t('One view left'), pan: [-FAR, 0] },
  { action: 'farRight', keys: ['Shift+ArrowRight', 'PageDown'], text: t('One view right'), pan: [FAR, 0] },
  {
    action: 'zoomIn',
    palette: 'Zoom In',
    keys: ['+', '=', 'Shift++'],
    text: t('Zoom in'),
    zoom: [1 / ZOOM, 1],
  },
  { action: 'zoomOut', palette: 'Zoom Out', keys: ['-', '_'], text: t('Zoom out'), zoom: [ZOOM, 1] },
  { action: 'zoomInHeight', keys: ['Shift+ArrowUp'], text: t('Stretch the height'), zoom: [1, 1 / ZOOM] },
  { action: 'zoomOutHeight', keys: ['Shift+ArrowDown'], text: t('Shrink the height'), zoom: [1, ZOOM] },
  { action: 'fit', palette: 'Reset Zoom', keys: ['0', 'Home'], text: t('Reset zoom') },
];

const BY_ACTION = new Map<Action, MoveRow>(MOVES.map((row) => [row.action, row]));

/** Whether an action zooms or moves a picture. */
export const movesCamera = (action: Action): boolean => BY_ACTION.has(action);

interface CursorRow extends Required<KeyRow<Action>> {
  /** By how many events or edges it moves; null for one that is put in the middle. */
  readonly by: 1 | -1 | null;
  readonly second: boolean;
}

/** What puts and moves the cursors of a picture over time. */
export const CURSOR_MOVES: readonly CursorRow[] = [
  {
    action: 'cursorHere',
    keys: ['m'],
    text: t('Put the cursor in the middle of the view'),
    by: null,
    second: false,
  },
  {
    action: 'secondCursorHere',
    keys: ['Shift+m'],
    text: t('Put the second cursor in the middle'),
    by: null,
    second: true,
  },
  { action: 'cursorBack', keys: [','], text: t('Move the cursor back one event'), by: -1, second: false },
  { action: 'cursorOn', keys: ['.'], text: t('Move the cursor forward one event'), by: 1, second: false },
  {
    action: 'secondCursorBack',
    keys: ['<', 'Shift+,'],
    text: t('Move the second cursor back one event'),
    by: -1,
    second: true,
  },
  {
    action: 'secondCursorOn',
    keys: ['>', 'Shift+.'],
    text: t('Move the second cursor forward one event'),
    by: 1,
    second: true,
  },
];

/** The keys of any picture over time. */
export const PEAK = {
  action: 'peak',
  palette: 'Go to the Peak',
  keys: ['p'],
  text: t('Go to the peak'),
} as const;

export const CLEAR = {
  action: 'clearSelection',
  palette: 'Clear Selection',
  keys: ['Escape'],
  text: t('Clear the selection'),
} as const;

interface Moved {
  /** Where its camera will be when it stands still. */
  readonly target: Camera;
  readonly bounds: Extent;
  moveTo(camera: Camera, glide: boolean): void;
}

/** Moves a picture's camera; false for an action that does something else. */
export function moveCamera(action: Action, plot: Moved): boolean {
  const zoom = (fx: number, fy: number): void => {
    const c = plot.target;
    plot.moveTo(
      zoomAt(c, plot.bounds, { x: (c.x0 + c.x1) / 2, y: fx === 1 ? c.y0 : (c.y0 + c.y1) / 2 }, fx, fy),
      true,
    );
  };
  const pan = (dx: number, dy: number): void => plot.moveTo(panBy(plot.target, plot.bounds, dx, dy), true);
  const { zoom: by, pan: far } = BY_ACTION.get(action) ?? {};
  if (action === 'fit') plot.moveTo(fitAll(plot.bounds), true);
  else if (by) zoom(...by);
  else if (far) pan(...far);
  else return false;
  return true;
}
