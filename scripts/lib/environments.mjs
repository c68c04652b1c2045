// Installs packages for tests in environments of their own, because nothing that is shipped needs them.
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { CACHE, ROOT, VENV_PYTHON, WINDOWS } from './paths.mjs';
import { describe } from './python.mjs';
import { exclusively, hashOf, must, step } from './steps.mjs';

/** memray, for the tests of its captures. */
export async function installMemray() {
  if (process.env.MEMLENS_TEST_MEMRAY) return;
  if (WINDOWS)
    process.stdout.write('memray: there is none for Windows, so the tests of its captures are skipped\n');
  else await install('memray', 'the tests of its captures');
}

/** The official client of the Model Context Protocol. */
export const installMcp = () => install('mcp', 'the tests that ask with it');

/** nanoarrow and Jupyter, for tables as Arrow's data and for notebooks. */
export const installNotebook = () => install('notebook', 'the tests of notebooks');

/**
 * Installs what `tests/python/NAME.lock` pins in `.cache/NAME`, unless it is there. Without a network, or on a system
 * that a package lacks, its tests are skipped.
 * @param {string} name
 * @param {string} tests what is skipped without it
 */
async function install(name, tests) {
  const environment = path.join(CACHE, name);
  const python = WINDOWS
    ? path.join(environment, 'Scripts', 'python.exe')
    : path.join(environment, 'bin', 'python');
  const lock = `tests/python/${name}.lock`;
  const log = (text) => void process.stdout.write(text);
  const { version } = await describe([VENV_PYTHON]);
  try {
    await exclusively(name, () =>
      step({
        name,
        doing: `pip install --require-hashes -r ${lock}`,
        stamp: path.join(path.relative(ROOT, environment), '.stamp'),
        key: hashOf([lock], version),
        outputs: [path.relative(ROOT, python)],
        work: async () => {
          rmSync(environment, { recursive: true, force: true });
          // without a pip of its own, which takes as long as most packages; only imported modules are compiled
          await must([VENV_PYTHON, '-m', 'venv', '--without-pip', environment]);
          const pip = [VENV_PYTHON, '-m', 'pip', '--python', python, '--disable-pip-version-check'];
          const flags = ['--quiet', '--no-compile', '--retries=1', '--require-hashes'];
          await must([...pip, 'install', ...flags, '-r', lock]);
        },
        log,
      }),
    );
  } catch (error) {
    // with an incomplete environment, tests that should be skipped would fail
    if (existsSync(environment)) rmSync(environment, { recursive: true, force: true });
    log(`${name}: not installed, so ${tests} are skipped: ${error.message}\n`);
  }
}
