// Files that were asked for and not found.

import type { Frame } from '../../../extension/shared/protocol.gen';

/** A file that was asked for and not found. */
export interface Missing {
  readonly file: string;
  readonly line: number;
  /** Where it was looked for. */
  readonly lookedFor: string;
}

/** Those that are missing, with another one. */
export function withMissing(missing: readonly Missing[], one: Missing): readonly Missing[] {
  return [...missing.filter(({ file, line }) => file !== one.file || line !== one.line), one];
}

/** What is known to be missing of a frame's file. */
export function missingOf(missing: readonly Missing[], { file, line }: Frame): Missing | undefined {
  return missing.find((each) => each.file === file && each.line === line);
}
