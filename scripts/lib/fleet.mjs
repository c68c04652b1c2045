// Installs the packages of `memlens[fleet]` and an S3 server for the tests of fleets. They are separate from .venv,
// because no other command imports them and nothing that is shipped needs them; .venv's Python runs them with this
// folder on its path.
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { CACHE, ROOT, VENV_PYTHON } from './paths.mjs';
import { describe } from './python.mjs';
import { exclusively, hashOf, must, step } from './steps.mjs';

const FOLDER = path.join(CACHE, 'fleet');
const LOCK = 'tests/python/fleet.lock';

/**
 * Installs them where they aren't yet. Without a network the tests of fleets are skipped.
 * @param {(text: string) => void} [log] prints a line
 */
export async function installFleet(log = (text) => void process.stdout.write(text)) {
  const { version } = await describe([VENV_PYTHON]);
  try {
    await exclusively('fleet', () =>
      step({
        name: 'fleet',
        doing: `pip install --require-hashes -r ${LOCK}`,
        stamp: path.join(path.relative(ROOT, FOLDER), '.stamp'),
        key: hashOf([LOCK], version),
        outputs: [path.relative(ROOT, path.join(FOLDER, 'distributed'))],
        work: async () => {
          rmSync(FOLDER, { recursive: true, force: true });
          // packages that the lock omits are in .venv; only imported modules are compiled
          const flags = [
            '--quiet',
            '--disable-pip-version-check',
            '--no-compile',
            '--no-deps',
            '--retries=1',
          ];
          const target = ['--require-hashes', '--target', FOLDER, '-r', LOCK];
          await must([VENV_PYTHON, '-m', 'pip', 'install', ...flags, ...target]);
        },
        log,
      }),
    );
  } catch (error) {
    // with only some of the packages, tests that should be skipped would fail
    if (existsSync(FOLDER)) rmSync(FOLDER, { recursive: true, force: true });
    log(`fleet: not installed, so the tests of fleets are skipped: ${error.message}\n`);
  }
}
