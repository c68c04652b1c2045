// A picture that the server drew as SVG, as PNG. Images are forbidden to the page, so its few kinds of elements are drawn.

const SCALE = 2;

/** The base64 of a PNG. */
export function pngOf(svg: string): string {
  // a style sheet of its own would be against the page's policy, even in a document that is never shown
  const [style = '', sheet = ''] = /<style>([^<]*)<\/style>/.exec(svg) ?? [];
  const root = new DOMParser().parseFromString(svg.replace(style, ''), 'image/svg+xml').documentElement;
  const number = (element: Element, name: string): number => Number(element.getAttribute(name));
  const canvas = document.createElement('canvas');
  const [width, height] = [number(root, 'width'), number(root, 'height')];
  Object.assign(canvas, { width: width * SCALE, height: height * SCALE });
  const context = canvas.getContext('2d');
  if (!context) throw new Error('The picture can’t be drawn here.');
  context.scale(SCALE, SCALE);
  const rules = sheet.matchAll(/\.(\w+)\{(?:fill|stroke):(#\w+)/g);
  const colours = new Map(Array.from(rules, ([, name, colour]) => [name, colour]));
  context.font = /font:([^};]*)/.exec(sheet)?.[1] ?? '';
  for (const element of root.querySelectorAll('rect, path, text')) {
    const name = element.getAttribute('class') ?? '';
    const colour = colours.get(name) ?? '#888';
    const at = [number(element, 'x'), number(element, 'y')] as const;
    Object.assign(context, { fillStyle: colour, strokeStyle: colour });
    if (name === 'paper') context.fillRect(0, 0, width, height);
    else if (element.tagName === 'rect')
      context.fillRect(...at, number(element, 'width'), number(element, 'height'));
    else if (element.tagName === 'path') {
      const path = new Path2D(element.getAttribute('d') ?? '');
      context.setLineDash(name === 'mark' ? [4, 3] : []);
      if (name === 'grid' || name === 'mark') context.stroke(path);
      else context.fill(path);
    } else {
      const anchor = element.getAttribute('text-anchor');
      context.textAlign = anchor === 'middle' ? 'center' : anchor === 'end' ? 'right' : 'left';
      context.fillText(element.textContent, ...at);
    }
  }
  return canvas.toDataURL('image/png').replace(/^.*,/, '');
}
