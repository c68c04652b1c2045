// A slow line between a browser and a server on this machine: data is forwarded after a delay and at a limited rate
// each way, over all connections together. It replaces `tc qdisc add ... netem delay ... rate ...` where the kernel
// has no netem, with the same model: bytes wait until the line is free, then travel.
import { connect, createServer } from 'node:net';

/** Data is forwarded in pieces of about a packet, so that connections share the line as packets would. */
const PIECE_BYTES = 1460;
/** The size of the queue, as in a router; when it is full, the sender has to wait. */
const QUEUE_MS = 200;

/** One direction of the line. */
class Lane {
  #freeAt = 0;
  bytes = 0;

  constructor(delayMs, bytesPerMs) {
    this.delayMs = delayMs;
    this.bytesPerMs = bytesPerMs;
  }

  /** How long data that is sent now waits until the line is free. */
  get queuedMs() {
    return Math.max(0, this.#freeAt - performance.now());
  }

  /** The time at which the last byte of a piece that is sent now arrives. */
  arrival(length) {
    this.bytes += length;
    this.#freeAt = Math.max(this.#freeAt, performance.now()) + length / this.bytesPerMs;
    return this.#freeAt + this.delayMs;
  }
}

/**
 * @param {{port: number, delayMs: number, megabitsPerS: number, compressed: boolean}} options port: of the server on
 *   127.0.0.1. delayMs: one way, so that an answer takes twice that. compressed: whether WebSockets may be.
 * @returns {Promise<{port: number, bytes(): {up: number, down: number}, close(): void}>}
 */
export async function slowLink({ port, delayMs, megabitsPerS, compressed }) {
  const [up, down] = [1, 2].map(() => new Lane(delayMs, (megabitsPerS * 1e6) / 8 / 1000));
  const sockets = new Set();
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    for (const [from, to, lane] of [
      [near, far, up],
      [far, near, down],
    ]) {
      from.setNoDelay(true);
      sockets.add(from);
      from.on('close', () => sockets.delete(from));
      from.on('error', () => to.destroy());
      pass(from, to, lane, compressed ? (chunk) => chunk : withoutExtensions);
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    bytes: () => ({ up: up.bytes, down: down.bytes }),
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function pass(from, to, lane, changed) {
  /** Pieces on their way, in the order in which they arrive. */
  const waiting = [];
  let timer;
  const deliver = () => {
    timer = undefined;
    const now = performance.now();
    while (waiting.length && waiting[0].at <= now) {
      const { piece } = waiting.shift();
      if (to.destroyed) return;
      if (piece) to.write(piece);
      else to.end();
    }
    if (waiting.length) timer = setTimeout(deliver, Math.max(0, waiting[0].at - now));
  };
  const send = (piece) => {
    waiting.push({ at: lane.arrival(piece?.length ?? 0), piece });
    timer ??= setTimeout(deliver, lane.delayMs);
  };
  from.on('data', (original) => {
    const chunk = changed(original);
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) send(chunk.subarray(at, at + PIECE_BYTES));
    if (lane.queuedMs > QUEUE_MS) {
      from.pause();
      setTimeout(() => from.resume(), lane.queuedMs - QUEUE_MS / 2);
    }
  });
  from.on('end', () => send(null));
}

/** A piece of the same length; if it is a request for a WebSocket, it offers no compression. */
function withoutExtensions(chunk) {
  if (!chunk.subarray(0, 4).equals(Buffer.from('GET '))) return chunk;
  const text = chunk.toString('latin1').replace(/^Sec-WebSocket-Extensions:/im, 'Not-WebSocket-Extensions:');
  return Buffer.from(text, 'latin1');
}
