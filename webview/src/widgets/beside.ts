// Where a card stands that says what is under the pointer.

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Shows a card beside a point, on the side that has room. */
export function showBeside(
  card: HTMLElement,
  { x, y }: Point,
  room: { readonly width: number; readonly height: number },
): void {
  card.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = card;
  const left = x + 16 + width > room.width ? x - 14 - width : x + 16;
  const top = Math.min(y + 14, room.height - height - 4);
  card.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
}
