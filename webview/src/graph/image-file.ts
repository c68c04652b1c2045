// Files of images that the server made or that are in the dump, as pixels.

import type { ImageAnswer } from '../../../extension/shared/protocol.gen';
import { bytesOf } from '../base/base64';

/** The pixels of a file, scaled by the browser where `options` say so; null if it can't decode it. */
export async function decode(
  { data, media }: Pick<ImageAnswer, 'data' | 'media'>,
  options: ImageBitmapOptions = {},
): Promise<ImageBitmap | null> {
  try {
    return await createImageBitmap(new Blob([bytesOf(data)], { type: media }), options);
  } catch {
    return null;
  }
}

export function draw(canvas: HTMLCanvasElement, bitmap: ImageBitmap): void {
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
}
