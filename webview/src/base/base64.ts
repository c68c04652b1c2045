// Packed columns in answers.

export function bytesOf(base64: string): ArrayBuffer {
  const text = atob(base64);
  return Uint8Array.from(text, (c) => c.charCodeAt(0)).buffer;
}
