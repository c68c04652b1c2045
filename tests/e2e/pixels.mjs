// The colours of a window as a person would see them.
import { inflateSync } from 'node:zlib';

/** The colour of a page at a point: [red, green, blue]. */
export async function pixelOf(page, x, y) {
  const clip = { x: Math.floor(x), y: Math.floor(y), width: 1, height: 1 };
  return firstPixel(await page.screenshot({ clip }));
}

/** The first pixel of a PNG. It has no neighbours, so the row's filter doesn't matter. */
function firstPixel(png) {
  const data = [];
  let at = 8;
  while (at < png.length) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  return [...inflateSync(Buffer.concat(data)).subarray(1, 4)];
}
