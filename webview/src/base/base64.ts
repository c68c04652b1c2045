// Packed columns in answers: base64 of little-endian numbers.

export function bytesOf(base64: string): ArrayBuffer {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer;
}

export function floats(base64: string): Float64Array<ArrayBuffer> {
  return new Float64Array(bytesOf(base64));
}

export function wholes(base64: string): Uint32Array<ArrayBuffer> {
  return new Uint32Array(bytesOf(base64));
}
