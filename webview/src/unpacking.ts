// Results that came compressed, over a line between two machines.

import type { ToWebviewMessage } from '../../extension/shared/messages';

type Packed = Extract<ToWebviewMessage, { type: 'packed' }>;

/** The result as a response that isn't packed has it. */
export async function unpack({ json, geometry }: Packed): Promise<unknown> {
  const [text, bytes] = await Promise.all([
    inflated(json).text(),
    geometry && inflated(geometry).arrayBuffer(),
  ]);
  const result = JSON.parse(text) as object;
  return bytes ? { ...result, geometry: bytes } : result;
}

function inflated(bytes: ArrayBuffer): Response {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')));
}
