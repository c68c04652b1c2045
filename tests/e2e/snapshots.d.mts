// The types of snapshots.mjs, for tests in TypeScript. Each function returns the JSON of a snapshot.

export const MARKUP: string;
export const LINK: string;
export const HOSTILE: string;
export const HOSTILE_FILE: string;
export function twoDevices(): string;
export function kept(
  stacks: readonly (readonly (readonly [file: string, line: number, name: string])[])[],
): string;
export function outOfMemory(): string;
/** Fits only without a line. */
export function tooTight(): string;
export function annotated(): string;
export function segmented(): string;
export function named(name: string, file: string): string;
export function recordedLate(): string;
export function namedProfile(name: string, file: string): Buffer;
