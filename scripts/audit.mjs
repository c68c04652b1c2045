// Checks the packages pinned in the lock files for advisories. `npm test` does so too, except without a network.
import { NoAnswer, advisories, pinned } from './lib/audit.mjs';

/** Prints the advisories; the exit status is 1 if users get such a package, 75 (EX_TEMPFAIL) without an answer. */
try {
  const packages = pinned();
  const affected = await advisories(packages);
  for (const { ecosystem, name, version, ships, ids } of affected) {
    console.log(
      `${ecosystem} ${name} ${version}, ${ships ? 'shipped' : 'for development'}: ${ids.join(', ')}`,
    );
  }
  console.log(`${packages.length} packages checked, ${affected.length} with advisories`);
  if (affected.some(({ ships }) => ships)) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof NoAnswer)) throw error;
  console.log(error.message);
  process.exitCode = 75;
}
