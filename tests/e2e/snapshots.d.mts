// The types of snapshots.mjs, for tests in TypeScript. Each returns the JSON of a snapshot.

export function twoDevices(): string;
export function kept(
  stacks: readonly (readonly (readonly [file: string, line: number, name: string])[])[],
): string;
export function outOfMemory(): string;
export function annotated(): string;
export function segmented(): string;
export function named(name: string, file: string): string;
export function recordedLate(): string;
export function namedProfile(name: string, file: string): Buffer;
