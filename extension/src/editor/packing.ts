import { promisify } from 'node:util';
import { deflateRaw } from 'node:zlib';
import type { ToWebviewMessage } from '../../shared/messages';
import type { Requests } from '../../shared/protocol.gen';

type Result = Requests[keyof Requests]['result'];
type Packed = Extract<ToWebviewMessage, { type: 'packed' }>;

const deflated = promisify(deflateRaw);

/** A packet more or less makes no difference. */
const WORTH_BYTES = 4096;
/** The fastest: a picture's geometry becomes a third to a fiftieth of its size in a few milliseconds. */
const LEVEL = 1;

/** A result as the page gets it: its base64 `geometry` as an ArrayBuffer, which is sent in binary form. */
export function unpacked(result: Result): unknown {
  const { geometry, rest } = parts(result);
  return geometry ? { ...rest, geometry: exactly(geometry) } : rest;
}

/**
 * A result for a page on another machine, compressed, or null if it is too small for that. VS Code compresses what it
 * sends to a browser, but not what it sends to the desktop.
 */
export async function packed(id: number, result: Result): Promise<Packed | null> {
  const { geometry, rest } = parts(result);
  const json = Buffer.from(JSON.stringify(rest));
  if (json.length + (geometry?.length ?? 0) < WORTH_BYTES) return null;
  const [small, smallGeometry] = await Promise.all([
    deflated(json, { level: LEVEL }),
    geometry && deflated(geometry, { level: LEVEL }),
  ]);
  return {
    type: 'packed',
    id,
    json: exactly(small),
    geometry: smallGeometry ? exactly(smallGeometry) : null,
  };
}

function parts(result: Result): { geometry: Buffer | null; rest: object } {
  if (!('geometry' in result) || typeof result.geometry !== 'string') return { geometry: null, rest: result };
  const { geometry, ...rest } = result;
  return { geometry: Buffer.from(geometry, 'base64'), rest };
}

/** Buffers may lie in a larger ArrayBuffer. */
function exactly(bytes: Buffer): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}
