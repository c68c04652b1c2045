// Canvases as sharp as the screen: so many pixels as it has there.

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Gives a canvas a size in the screen's pixels, which clears it if that is another; false where there is no room. */
export function sized(canvas: HTMLCanvasElement, { width, height }: Size): boolean {
  if (width < 1 || height < 1) return false;
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  return true;
}

/** Such a canvas cleared, to draw on in units of so many pixels; null where there is no room. */
export function sharp(canvas: HTMLCanvasElement, size: Size, unit = 1): CanvasRenderingContext2D | null {
  const context = canvas.getContext('2d');
  if (!context || !sized(canvas, size)) return null;
  context.reset();
  context.scale(unit, unit);
  return context;
}

/** The pixels of the screen that an element takes up. */
export function pixelsOf({ clientWidth, clientHeight }: Element, scale = pixelRatio()): Size {
  return { width: Math.round(clientWidth * scale), height: Math.round(clientHeight * scale) };
}

/** Pixels of the screen for each of CSS. */
export function pixelRatio(): number {
  return window.devicePixelRatio || 1;
}
