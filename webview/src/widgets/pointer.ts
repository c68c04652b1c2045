// The pointer on the plot: hover, click, drag, box, double-click, two fingers. Points are CSS pixels of the surface.

import { wheelTurn, type WheelTurn } from './wheel';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Keys held with a click: Ctrl or Cmd, Shift. */
interface ClickKeys {
  readonly open: boolean;
  readonly extend: boolean;
}

export interface PointerActions {
  hover(at: Point | null): void;
  click(at: Point, keys: ClickKeys): void;
  doubleClick(at: Point): void;
  /** The picture follows the pointer by so many pixels. */
  drag(dx: number, dy: number): void;
  wheel(at: Point, turn: WheelTurn): void;
  pinch(at: Point, factor: number): void;
  /** A box is being drawn; null when it was given up. */
  box(from: Point, to: Point | null): void;
  boxDone(from: Point, to: Point): void;
  /** A span of the x axis is being marked, or was. */
  span(from: Point, to: Point, done: boolean): void;
}

/** A click this soon after another at the same place is the second of a double-click, and selects nothing new. */
const DOUBLE_MS = 400;
/** A press that moves less than this is a click. */
const SLOP = 4;

interface Press {
  readonly from: Point;
  last: Point;
  readonly mode: 'pan' | 'box' | 'span';
  moved: boolean;
}

export class PointerInput {
  /** The toolbar's box tool: a plain drag draws a box. */
  boxTool = false;
  private press: Press | null = null;
  private lastClick: { at: Point; time: number } | null = null;
  private readonly fingers = new Map<number, Point>();

  constructor(
    private readonly surface: HTMLElement,
    private readonly actions: PointerActions,
  ) {
    surface.addEventListener('pointerdown', (event) => {
      this.down(event);
    });
    surface.addEventListener('pointermove', (event) => {
      this.move(event);
    });
    surface.addEventListener('pointerup', (event) => {
      this.up(event);
    });
    surface.addEventListener('pointercancel', (event) => {
      this.fingers.delete(event.pointerId);
      this.giveUp();
    });
    surface.addEventListener('pointerleave', () => {
      if (!this.press) actions.hover(null);
    });
    surface.addEventListener('dblclick', (event) => {
      actions.doubleClick(this.point(event));
    });
    surface.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        actions.wheel(this.point(event), wheelTurn(event));
      },
      { passive: false },
    );
  }

  toggleBoxTool(): void {
    this.boxTool = !this.boxTool;
    this.surface.classList.toggle('box-tool', this.boxTool);
  }

  /** Escape: a box that is being drawn, or the tool. True when there was something to give up. */
  escape(): boolean {
    if (this.giveUp()) return true;
    if (!this.boxTool) return false;
    this.toggleBoxTool();
    return true;
  }

  /** True when a box was being drawn. */
  private giveUp(): boolean {
    const press = this.press;
    this.press = null;
    this.surface.classList.remove('dragging');
    if (press?.mode !== 'box') return false;
    this.actions.box(press.from, null);
    return true;
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0 && event.button !== 1) return;
    event.preventDefault();
    this.surface.focus({ preventScroll: true });
    this.surface.setPointerCapture(event.pointerId);
    const at = this.point(event);
    this.fingers.set(event.pointerId, at);
    if (this.fingers.size > 1) {
      this.giveUp();
      return;
    }
    // Alt going down and up alone would focus VS Code's menu bar, which only hears of keys: let it hear of another one.
    if (event.altKey)
      window.dispatchEvent(new KeyboardEvent('keydown', { key: 'Unidentified', altKey: true }));
    const box = event.button === 0 && (event.altKey || this.boxTool);
    this.press = { from: at, last: at, mode: box ? 'box' : event.shiftKey ? 'span' : 'pan', moved: false };
  }

  private move(event: PointerEvent): void {
    const at = this.point(event);
    const before = this.fingers.get(event.pointerId);
    if (before && this.fingers.size === 2) {
      this.pinch(event.pointerId, before, at);
      return;
    }
    const { press } = this;
    if (!press) {
      if (event.pointerType !== 'touch') this.actions.hover(at);
      return;
    }
    if (!press.moved && Math.hypot(at.x - press.from.x, at.y - press.from.y) < SLOP) return;
    if (!press.moved) {
      press.moved = true;
      this.surface.classList.add('dragging');
      this.actions.hover(null);
    }
    if (press.mode === 'box') this.actions.box(press.from, at);
    else if (press.mode === 'span') this.actions.span(press.from, at, false);
    else this.actions.drag(at.x - press.last.x, at.y - press.last.y);
    press.last = at;
  }

  private up(event: PointerEvent): void {
    this.fingers.delete(event.pointerId);
    const { press } = this;
    this.press = null;
    this.surface.classList.remove('dragging');
    if (!press) return;
    const at = this.point(event);
    if (press.mode === 'box') {
      if (press.moved) this.actions.boxDone(press.from, at);
      else this.actions.box(press.from, null);
    }
    if (press.mode === 'span' && press.moved) this.actions.span(press.from, at, true);
    if (press.moved || event.button !== 0 || this.isSecond(at, event.timeStamp)) return;
    this.lastClick = { at, time: event.timeStamp };
    this.actions.click(at, { open: event.ctrlKey || event.metaKey, extend: event.shiftKey });
  }

  private isSecond(at: Point, time: number): boolean {
    const last = this.lastClick;
    this.lastClick = null;
    return (
      last !== null && time - last.time < DOUBLE_MS && Math.hypot(at.x - last.at.x, at.y - last.at.y) < SLOP
    );
  }

  private pinch(finger: number, before: Point, at: Point): void {
    const other = [...this.fingers].find(([id]) => id !== finger)?.[1];
    this.fingers.set(finger, at);
    if (!other) return;
    const was = Math.hypot(before.x - other.x, before.y - other.y);
    const is = Math.hypot(at.x - other.x, at.y - other.y);
    if (was < 8 || is < 8) return;
    this.actions.pinch({ x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 }, was / is);
    this.actions.drag((at.x - before.x) / 2, (at.y - before.y) / 2);
  }

  private point(event: MouseEvent): Point {
    const box = this.surface.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
}
