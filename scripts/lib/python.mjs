// Finds a Python that can run the server, and checks whether it can build the kernels.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { WINDOWS } from './paths.mjs';
import { UserError, run } from './steps.mjs';

const MINIMUM = [3, 11];

/** Newest first; each is run to get its version, since a name may be a shim without a Python. */
const CANDIDATES = [
  ...['3.14', '3.13', '3.12', '3.11'].map((version) => [`python${version}`]),
  ['python3'],
  ['python'],
  ...(WINDOWS ? [['py', '-3']] : []),
];

const ASK = `
import json, os, sys, sysconfig
include = sysconfig.get_path("include")
print(json.dumps({
    "executable": sys.executable, "version": list(sys.version_info[:3]), "base": sys.base_prefix,
    "cc": (sysconfig.get_config_var("CC") or "").split(), "headers": os.path.join(include, "Python.h"),
    "cacheTag": sys.implementation.cache_tag, "bits": sys.maxsize.bit_length() + 1,
}))`;

/**
 * Runs a Python to get its properties.
 * @param {string[]} command
 * @returns {Promise<{executable: string, version: number[], base: string, cc: string[], headers: string,
 *                    cacheTag: string, bits: number} | undefined>} undefined if it does not run
 */
export async function describe(command) {
  try {
    const { code, output } = await run([...command, '-c', ASK]);
    if (code !== 0) return undefined;
    return JSON.parse(output.trim().split('\n').at(-1));
  } catch {
    return undefined;
  }
}

const newEnough = ({ version }) =>
  version[0] > MINIMUM[0] || (version[0] === MINIMUM[0] && version[1] >= MINIMUM[1]);

/** Returns the Python for the virtual environment. */
export async function findPython() {
  const wanted = process.env.MEMLENS_PYTHON;
  if (wanted) {
    const python = await describe([wanted]);
    if (!python) throw new UserError(`MEMLENS_PYTHON is ${wanted}, which does not run as a Python.`);
    if (!newEnough(python)) {
      throw new UserError(
        `MEMLENS_PYTHON is Python ${python.version.join('.')}; Memlens needs 3.11 or later.`,
      );
    }
    return python;
  }
  for (const candidate of CANDIDATES) {
    const python = await describe(candidate);
    if (python && newEnough(python)) return python;
  }
  throw new UserError(
    'Memlens needs Python 3.11 or later: install it (Debian, Ubuntu: apt-get install python3 python3-venv ' +
      'python3-dev), or name one in MEMLENS_PYTHON.',
  );
}

/** Throws a UserError if kernels can't be compiled for this Python. */
export async function checkCompiler(python) {
  if (!existsSync(python.headers)) {
    throw new UserError(
      `Python's headers are needed to compile the kernels and ${path.basename(python.headers)} is not there: ` +
        'install them (Debian, Ubuntu: apt-get install python3-dev).',
    );
  }
  if (WINDOWS) return; // setuptools finds MSVC, or prints what to install
  const compiler = process.env.CC ?? python.cc[0] ?? 'cc';
  try {
    const { code } = await run([...compiler.split(' '), '--version']);
    if (code === 0) return;
  } catch {
    // missing: reported below
  }
  throw new UserError(
    `A C compiler is needed to compile the kernels and \`${compiler}\` is not there: install one ` +
      '(Debian, Ubuntu: apt-get install gcc libc6-dev; macOS: xcode-select --install), or name one in CC.',
  );
}
