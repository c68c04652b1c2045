// Profiles derived from the sample's.
import { execFileSync } from 'node:child_process';
import { ROOT, venvProgram } from '../../scripts/lib/paths.mjs';

/**
 * Writes the sample profile as if its code were in another folder, had `shift` lines added at its top, kept twice as
 * much in one function, and lacked another one.
 */
export function writeLater(source, target, shift) {
  execFileSync(venvProgram('python'), ['-m', 'tests.e2e.later', source, target, String(shift)], {
    cwd: ROOT,
  });
}
