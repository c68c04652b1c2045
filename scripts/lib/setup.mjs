// Everything a checkout needs before it can be started or tested. Each step is skipped if its inputs are unchanged.
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { CACHE, ROOT, VENV, VENV_PYTHON, WINDOWS, venvProgram } from './paths.mjs';
import { ENGLISH, pseudoFileOf, writePseudoLanguage } from './pseudo.mjs';
import { checkCompiler, describe, findPython } from './python.mjs';
import { UserError, exclusively, filesUnder, hashOf, must, npm, seconds, step } from './steps.mjs';

const PYSERVER = path.join(ROOT, 'pyserver');
const PIP = [VENV_PYTHON, '-m', 'pip', '--disable-pip-version-check'];
const relative = (file) => path.relative(ROOT, file);

/** @param {(text: string) => void} [log] prints a line, to standard output by default */
export async function setup(log = (text) => void process.stdout.write(text)) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20) throw new UserError(`Memlens needs Node.js 20 or later; this is ${major}.${minor}.`);

  const since = performance.now();
  const did = await exclusively('setup', async () => {
    // Node's part is mostly waiting, so it runs in parallel with Python's; its output is printed at once.
    let said = '';
    const chains = await Promise.allSettled([
      inTurn([environment, pythonPackages, kernels, editableInstall], log),
      inTurn([nodePackages, bundles, pseudoLanguage], (text) => void (said += text)),
    ]);
    log(said);
    for (const { reason } of chains) if (reason) throw reason;
    return chains.some(({ value }) => value);
  });
  log(did ? `set-up: done in ${seconds(since)}\n` : `set-up: everything is current (${seconds(since)})\n`);
}

/** Whether any of the steps was not skipped. */
async function inTurn(steps, log) {
  let did = false;
  for (const one of steps) did = (await one(log)) || did;
  return did;
}

const nodePackages = (log) =>
  step({
    name: 'npm packages',
    doing: 'npm ci',
    stamp: 'node_modules/.memlens-stamp',
    key: hashOf(['package-lock.json', '.npmrc'], [process.versions.node, process.platform, process.arch]),
    work: () => must(npm('ci', '--no-audit', '--no-fund', '--ignore-scripts')),
    log,
  });

async function environment(log) {
  // Running the environment's Python also detects that its base was removed or upgraded.
  const here = existsSync(VENV_PYTHON) ? await describe([VENV_PYTHON]) : undefined;
  const wanted = process.env.MEMLENS_PYTHON || !here ? await findPython() : here;
  if (here && here.base === wanted.base && here.version.join() === wanted.version.join()) return false;
  return step({
    name: 'Python environment',
    doing: `.venv with Python ${wanted.version.join('.')}`,
    stamp: '.venv/.memlens-environment',
    key: `${wanted.base} ${wanted.version.join('.')}`,
    outputs: [relative(VENV_PYTHON), '.venv/pyvenv.cfg', ...(here ? ['(another Python)'] : [])],
    work: async () => {
      rmSync(VENV, { recursive: true, force: true });
      try {
        await must([wanted.executable, '-m', 'venv', VENV]);
      } catch (error) {
        throw new UserError(
          `${error.message}\nPython's venv module does not work: install it (Debian, Ubuntu: apt-get install python3-venv).`,
        );
      }
    },
    log,
  });
}

async function pythonPackages(log) {
  const { version } = await describe([VENV_PYTHON]);
  return step({
    name: 'Python packages',
    doing: 'pip install --require-hashes -r pyserver/requirements.lock',
    stamp: '.venv/.memlens-packages',
    key: hashOf(['pyserver/requirements.lock'], version),
    work: () => {
      // only imported modules are compiled then, a small part of all
      const flags = ['--quiet', '--no-compile', '--require-hashes'];
      return must([...PIP, 'install', ...flags, '-r', 'pyserver/requirements.lock']);
    },
    log,
  });
}

/** What Cython's own helpers are compiled into, once for all kernels. */
const SHARED = 'pyserver/memlens/kernels/base/cython_shared';

async function kernels(log) {
  const python = await describe([VENV_PYTHON]);
  const sources = filesUnder('pyserver/memlens', ['.pyx', '.pxd']);
  const recipe = [
    'pyserver/setup.py',
    'pyserver/build_kernels.py',
    'pyserver/kernel_stubs.py',
    'pyserver/requirements.lock',
  ];
  // They use Python's stable ABI; one compiled for a single version would be loaded in their place.
  const suffix = WINDOWS ? '.pyd' : '.abi3.so';
  const names = sources.filter((file) => file.endsWith('.pyx')).map((file) => file.slice(0, -'.pyx'.length));
  const outputs = names.flatMap((name) => [name + suffix, `${name}.pyi`]);
  // so would one whose source has moved or is gone
  const made = new Set([...outputs.map(path.normalize), path.normalize(SHARED + suffix)]);
  const outdated = filesUnder('pyserver/memlens', ['.so', '.pyd', '.pyi']).filter(
    (file) => !made.has(path.normalize(file)),
  );
  return step({
    name: 'kernels',
    doing: `compiling ${names.length} Cython files`,
    stamp: '.venv/.memlens-kernels',
    key: hashOf([...recipe, ...sources], [...python.version, process.env.CC ?? '']),
    outputs: outdated.length ? ['(outdated kernels)'] : outputs,
    work: async () => {
      if (sources.length) await checkCompiler(python);
      for (const file of outdated) rmSync(path.join(ROOT, file));
      await must([VENV_PYTHON, 'setup.py', '--quiet', 'build_ext', '--inplace'], {
        cwd: PYSERVER,
        env: { MEMLENS_KERNEL_CACHE: path.join(CACHE, 'kernels') },
      });
    },
    log,
  });
}

const editableInstall = (log) =>
  step({
    name: 'memlens',
    doing: 'pip install -e pyserver',
    stamp: '.venv/.memlens-editable',
    key: hashOf(['pyserver/pyproject.toml', 'pyserver/setup.py'], [PYSERVER]),
    outputs: [relative(venvProgram('memlens'))],
    work: () => {
      const flags = ['--quiet', '--no-deps', '--no-index', '--no-build-isolation'];
      return must([...PIP, 'install', ...flags, '-e', PYSERVER], { env: { MEMLENS_KERNELS_ARE_BUILT: '1' } });
    },
    log,
  });

const bundles = (log) =>
  step({
    name: 'extension and webview',
    doing: 'node scripts/build.mjs',
    stamp: 'dist/.memlens-stamp',
    key: hashOf([
      'package-lock.json',
      'scripts/build.mjs',
      ...['extension', 'webview'].flatMap((folder) => filesUnder(folder, [''])),
    ]),
    outputs: ['dist/extension.js', 'dist/webview.js', 'dist/webview.css'],
    work: () => must([process.execPath, 'scripts/build.mjs']),
    log,
  });

const pseudoLanguage = (log) =>
  step({
    name: 'pseudo-language',
    doing: 'the texts in qps-ploc, for tests',
    stamp: 'dist/.memlens-pseudo-stamp',
    key: hashOf(['scripts/lib/pseudo.mjs', ...ENGLISH]),
    outputs: ENGLISH.map(pseudoFileOf),
    work: writePseudoLanguage,
    log,
  });
