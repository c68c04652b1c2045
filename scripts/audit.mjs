// Are there advisories for what the lock files pin? `npm test` asks as well, and passes over it without a network.
import { NoAnswer, advisories, pinned } from './lib/audit.mjs';

/** Says what was found; the exit status is 1 for what users get, 75 (EX_TEMPFAIL) where nobody could be asked. */
try {
  const packages = pinned();
  const found = await advisories(packages);
  for (const { ecosystem, name, version, ships, ids } of found) {
    console.log(
      `${ecosystem} ${name} ${version}, ${ships ? 'shipped' : 'for development'}: ${ids.join(', ')}`,
    );
  }
  console.log(`${packages.length} packages asked about, ${found.length} with advisories`);
  if (found.some(({ ships }) => ships)) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof NoAnswer)) throw error;
  console.log(error.message);
  process.exitCode = 75;
}
