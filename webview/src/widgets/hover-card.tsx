// A card in VS Code's hover look that says what is under the pointer.

import { render, type ComponentType } from 'preact';
import { element } from './dom';

interface Point {
  readonly x: number;
  readonly y: number;
}

export class HoverCard<Props extends object> {
  readonly root = element('div', { class: 'tooltip', role: 'tooltip', hidden: true });

  /** It is shown within an element, or wherever its root is put. */
  constructor(
    private readonly Content: ComponentType<Props>,
    within?: HTMLElement,
  ) {
    within?.append(this.root);
  }

  get shown(): boolean {
    return !this.root.hidden;
  }

  /** Shows it beside a point of a surface, on the side that has room. */
  show(props: Props, at: Point, surface: HTMLElement): void {
    const { Content, root } = this;
    render(<Content {...props} />, root);
    root.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = root;
    const room = root.offsetParent ?? document.documentElement;
    const { x, y } = placeIn(room, at, surface);
    const left = x + 16 + width > room.clientWidth ? x - 14 - width : x + 16;
    const top = Math.min(y + 14, room.clientHeight - height - 4);
    root.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  }

  hide(): void {
    this.root.hidden = true;
  }
}

/** A point of a surface, in the coordinates of the card's room. */
function placeIn(room: Element, { x, y }: Point, surface: HTMLElement): Point {
  if (room === surface) return { x, y };
  const [from, to] = [surface.getBoundingClientRect(), room.getBoundingClientRect()];
  return { x: x + from.left - to.left, y: y + from.top - to.top };
}
