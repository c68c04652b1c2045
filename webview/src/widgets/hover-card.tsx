// A card in VS Code's hover look that says what is under the pointer.

import { render, type ComponentType } from 'preact';
import { element } from './dom';

interface Point {
  readonly x: number;
  readonly y: number;
}

export class HoverCard<Props extends object> {
  readonly root = element('div', { class: 'tooltip', role: 'tooltip', hidden: true });

  constructor(private readonly Content: ComponentType<Props>) {}

  /** Shows it beside a point, on the side that has room. */
  show(props: Props, { x, y }: Point, room: { readonly width: number; readonly height: number }): void {
    const { Content, root } = this;
    render(<Content {...props} />, root);
    root.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = root;
    const left = x + 16 + width > room.width ? x - 14 - width : x + 16;
    const top = Math.min(y + 14, room.height - height - 4);
    root.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  }

  hide(): void {
    this.root.hidden = true;
  }
}
