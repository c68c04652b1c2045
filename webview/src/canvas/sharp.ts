// Canvases as sharp as the screen.

/**
 * Sizes a canvas to so many CSS pixels and clears it. What is drawn with the context is in CSS pixels; null where there
 * is no room.
 */
export function sharp(
  canvas: HTMLCanvasElement,
  { width, height }: { readonly width: number; readonly height: number },
): CanvasRenderingContext2D | null {
  const context = canvas.getContext('2d');
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (!context || wide < 1 || high < 1) return null;
  // a new size resets the context as well
  if (canvas.width === wide && canvas.height === high) context.reset();
  else [canvas.width, canvas.height] = [wide, high];
  context.scale(scale, scale);
  return context;
}
