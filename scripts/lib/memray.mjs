// Installs memray for the tests of its captures, in a separate environment because nothing that is shipped needs it.
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { CACHE, ROOT, VENV_PYTHON, WINDOWS } from './paths.mjs';
import { describe } from './python.mjs';
import { exclusively, hashOf, must, step } from './steps.mjs';

const ENVIRONMENT = path.join(CACHE, 'memray');
const PYTHON = path.join(ENVIRONMENT, 'bin', 'python');
const LOCK = 'tests/python/memray.lock';

/**
 * Installs it unless it is installed. Its tests are skipped without a network, or on a system that memray lacks.
 * @param {(text: string) => void} [log] where the lines go
 */
export async function installMemray(log = (text) => void process.stdout.write(text)) {
  if (process.env.MEMLENS_TEST_MEMRAY) return;
  if (WINDOWS) return log('memray: there is none for Windows, so the tests of its captures are skipped\n');
  const { version } = await describe([VENV_PYTHON]);
  try {
    await exclusively('memray', () =>
      step({
        name: 'memray',
        doing: `pip install --require-hashes -r ${LOCK}`,
        stamp: path.join(path.relative(ROOT, ENVIRONMENT), '.stamp'),
        key: hashOf([LOCK], version),
        outputs: [path.relative(ROOT, PYTHON)],
        work: async () => {
          rmSync(ENVIRONMENT, { recursive: true, force: true });
          await must([VENV_PYTHON, '-m', 'venv', ENVIRONMENT]);
          const flags = ['--quiet', '--disable-pip-version-check', '--retries=1', '--require-hashes'];
          await must([PYTHON, '-m', 'pip', 'install', ...flags, '-r', LOCK]);
        },
        log,
      }),
    );
  } catch (error) {
    // with an incomplete environment, tests that should be skipped would fail
    if (existsSync(ENVIRONMENT)) rmSync(ENVIRONMENT, { recursive: true, force: true });
    log(`memray: not installed, so the tests of its captures are skipped: ${error.message}\n`);
  }
}
