// npm test: set-up, then all checks, then a table. `npm test -- --quick` leaves out the network, the slow Python tests,
// tests/views with its real servers, and all end-to-end tests but one; `--slow` adds the Python tests that repeat others
// with more files and in more combinations. `npm test -- --only python,e2e` selects steps, `--verbose` also shows the
// output of steps that pass.
// Arguments after a second `--` are passed to the one selected step, and of Python's tests they select also those of
// `--slow`: `npm test -- --only python -- -k timeline`.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { findChromium } from './lib/chromium.mjs';
import { installCodeServer } from './lib/code-server.mjs';
import { installMcp, installMemray, installNotebook } from './lib/environments.mjs';
import { installFleet } from './lib/fleet.mjs';
import { folderInMemory } from './lib/memory-folder.mjs';
import { ROOT, VENV_PYTHON, venvProgram } from './lib/paths.mjs';
import { setup } from './lib/setup.mjs';
import { UserError, argumentsOf, filesUnder, main, run, seconds } from './lib/steps.mjs';
import { bundleUnitTests, withSources } from './lib/unit.mjs';

const exists = (file) => existsSync(path.join(ROOT, file));
const present = (...files) => files.filter(exists);
const node = (script, ...args) => [process.execPath, script, ...args];
const PYTHON_FOLDERS = () => present('pyserver', 'tests', 'samples', 'scripts/package');
const PYTHON_TESTS = ['tests/python', 'pyserver/memlens/packs'];
/** The exit status of scripts/audit.mjs without a network. */
const NOBODY_TO_ASK = 75;
/** Where the end-to-end tests' runner, which runs what failed once more itself, says what came of it. */
const E2E_RESULTS = '.cache/e2e/results.json';
/** Where pytest names the tests that failed, once `--cache-clear` has emptied it. */
const FAILED_TESTS = '.pytest_cache/v/cache/lastfailed';
/** The niceness of the steps that fill the time in which the long one waits. */
const FILLING = 5;
/** If more tests fail, it isn't because the machine is busy, so they aren't run again. */
const MOST_AGAIN = 3;
const CONTRACT = 'extension/shared/protocol.gen.ts';
const FILTER_TERMS = 'webview/src/shell/filter-terms.gen.ts';
const SNAPSHOT_ENDINGS = 'extension/shared/declared.gen.ts';

let codeServer;

/** The step had nothing to check; it is shown as skipped. */
class Nothing extends Error {}

/**
 * name: for --only. what: the description. commands: run one after another until one fails. shown: print the output
 * even if the step passes. long: begin with it; others fill the time in which it waits. writes: its tests write many
 * files, in memory where there is enough. alone: run no other step at the same time, for which its windows would wait.
 * slow: left out by --quick. again: the names of failures that may be run once more, and the commands for it; those that
 * pass then are shown as FLAKY. flaky: such tests, and why they failed, where the runner itself ran them again. readable:
 * makes of a failure's output what a person reads.
 */
const STEPS = [
  {
    name: 'contract',
    what: 'generated types and texts are current',
    commands: () => [
      [VENV_PYTHON, '-m', 'memlens.server.contract', '--check', CONTRACT],
      [VENV_PYTHON, '-m', 'memlens.server.manifest', '--check', 'package.json', SNAPSHOT_ENDINGS],
      [VENV_PYTHON, '-m', 'memlens.cli.pages', '--check', 'docs', FILTER_TERMS],
      node('scripts/l10n.mjs', '--check'),
      node('scripts/address.mjs', '--check'),
      node('scripts/commands.mjs', '--check'),
    ],
  },
  {
    name: 'ruff',
    what: 'Python: lint and format',
    commands: () => [
      [venvProgram('ruff'), 'check', '--no-cache', ...PYTHON_FOLDERS()],
      [venvProgram('ruff'), 'format', '--no-cache', '--check', ...PYTHON_FOLDERS()],
    ],
  },
  {
    name: 'pyrefly',
    what: 'Python: types',
    commands: () => [[venvProgram('pyrefly'), 'check', '--output-format', 'min-text']],
  },
  {
    name: 'layers',
    what: 'Python: which folder may import which',
    commands: () => [[venvProgram('lint-imports'), '--no-cache']],
  },
  {
    name: 'cython-lint',
    what: 'Cython: lint',
    commands: () => {
      const files = filesUnder('pyserver/memlens', ['.pyx', '.pxd']);
      if (!files.length) throw new Nothing('no kernels');
      return [
        [venvProgram('cython-lint'), '--no-pycodestyle', ...files],
        [VENV_PYTHON, 'scripts/lib/cython_style.py', ...files],
      ];
    },
  },
  {
    name: 'tsc',
    what: 'TypeScript: types',
    commands: () => {
      const projects = [
        ['extension', ['extension/src', 'extension/shared']],
        ['webview', ['webview/src']],
        ['tests', ['tests']],
      ].filter(([, folders]) => folders.some((folder) => filesUnder(folder, ['.ts']).length));
      if (!projects.length) throw new Nothing('no TypeScript');
      return projects.map(([project]) => node('node_modules/typescript/bin/tsc', '-p', project));
    },
  },
  {
    name: 'oxlint',
    what: 'TypeScript and scripts: lint',
    commands: () => [node('node_modules/oxlint/bin/oxlint', '--deny-warnings', '--format', 'unix')],
  },
  {
    name: 'oxfmt',
    what: 'TypeScript and scripts: format',
    commands: () => [node('node_modules/oxfmt/bin/oxfmt', '--check', '.')],
  },
  {
    name: 'audit',
    what: 'no advisories for pinned packages that are shipped',
    slow: true,
    commands: async () => {
      const { code, output } = await run([process.execPath, 'scripts/audit.mjs']);
      if (code === NOBODY_TO_ASK) throw new Nothing(output.trim());
      if (code) throw new UserError(output.trim());
      return [];
    },
  },
  {
    name: 'python',
    what: 'Python: tests',
    shown: true,
    long: true,
    writes: true,
    commands: async (rest) => {
      if (!exists('tests/python')) throw new Nothing('no tests/python');
      if (!values.quick)
        await Promise.all([installMemray(), installMcp(), installNotebook(), installFleet()]);
      // A lane that has finished takes tests from the other, because durations differ a lot.
      const all = ['-n', String(Math.min(availableParallelism(), 4)), '--dist', 'worksteal', ...PYTHON_TESTS];
      const left = values.quick ? 'not slow' : values.slow || rest.length ? '' : 'not nightly';
      const chosen = left ? ['-m', left] : [];
      return [[VENV_PYTHON, '-m', 'pytest', '--cache-clear', ...chosen, ...(rest.length ? rest : all)]];
    },
    again: () => {
      const tests = exists(FAILED_TESTS)
        ? Object.keys(JSON.parse(readFileSync(path.join(ROOT, FAILED_TESTS), 'utf8')))
        : [];
      if (!tests.length || tests.length > MOST_AGAIN || !tests.every((test) => test.includes('::')))
        return undefined;
      const names = tests.map((test) => test.replace(/^tests\/python\//, ''));
      return { names, commands: [[VENV_PYTHON, '-m', 'pytest', ...tests]] };
    },
  },
  {
    name: 'unit',
    what: 'TypeScript: unit tests',
    shown: true,
    writes: true,
    commands: async (rest) => {
      const files = await bundleUnitTests({ withServer: !values.quick });
      if (!files.length) throw new Nothing('no unit tests');
      // Node's own choice is one fewer than there are cores, but most of these wait for a server at times.
      const lanes = `--test-concurrency=${Math.min(availableParallelism(), 4)}`;
      return [node('--test', lanes, '--test-reporter=spec', ...rest, ...files)];
    },
    readable: withSources,
  },
  {
    name: 'e2e',
    what: 'in a real VS Code in a real browser',
    shown: true,
    alone: true,
    commands: async (rest) => {
      if (!values.quick) await installFleet();
      process.env.CHROMIUM = await findChromium({ install: true });
      await codeServer;
      rmSync(path.join(ROOT, E2E_RESULTS), { force: true });
      // Where files are named, somebody may want to look at them.
      if (rest.some((argument) => argument.endsWith('.test.mjs'))) process.env.MEMLENS_SCREENSHOTS = 'yes';
      const chosen = values.quick ? ['--grep', '@smoke'] : [];
      return [node('node_modules/@playwright/test/cli.js', 'test', '-c', 'tests/e2e', ...chosen, ...rest)];
    },
    flaky: () => endedAs('flaky', JSON.parse(readFileSync(path.join(ROOT, E2E_RESULTS), 'utf8'))),
  },
];

/** The tests of Playwright's report that ended so, with their first error: "flame.test.mjs: a click zooms (…)". */
function endedAs(status, { suites }) {
  return suites.flatMap(({ file, specs = [], suites: inner = [] }) => [
    ...specs.flatMap(({ title, tests }) =>
      tests
        .filter((test) => test.status === status)
        .map(({ results }) => `${file}: ${title} (${firstError(results)})`),
    ),
    ...endedAs(status, { suites: inner }),
  ]);
}

/** In one line, since the table at the end may be all that is seen of a run elsewhere. */
function firstError(results) {
  const [error] = results.flatMap(({ errors }) => errors);
  return (error?.message ?? 'no error').replace(/\s+/g, ' ').slice(0, 600);
}

const { values, tokens } = argumentsOf({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean' },
    slow: { type: 'boolean' },
    verbose: { type: 'boolean' },
  },
  allowPositionals: true,
  tokens: true,
});
const terminator = tokens.find((token) => token.kind === 'option-terminator');
const rest = terminator ? process.argv.slice(2).slice(terminator.index + 1) : [];

function selected() {
  if (!values.only) return STEPS.filter(({ slow }) => !(slow && values.quick));
  const wanted = values.only.split(',').map((name) => name.trim());
  const unknown = wanted.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length) {
    throw new UserError(
      `There is no step ${unknown.join(', ')}; there are ${STEPS.map((step) => step.name).join(', ')}.`,
    );
  }
  if (rest.length && wanted.length !== 1)
    throw new UserError('Arguments after -- are passed to one step: select it with --only.');
  return STEPS.filter((step) => wanted.includes(step.name));
}

/**
 * Plain output, and the environment's programs first. Tests start hundreds of Python processes, which must not compile
 * their modules each time: bytecode is kept, as it is for users. Nor do they multiply matrices, for which OpenBLAS would
 * start threads in each.
 */
const STEP_ENV = {
  PYTHONDONTWRITEBYTECODE: '',
  OPENBLAS_NUM_THREADS: '1',
  FORCE_COLOR: '0',
  NO_COLOR: '1',
  PATH: `${path.dirname(VENV_PYTHON)}${path.delimiter}${process.env.PATH}`,
};

/** Where tests write, made once it is needed. */
let inMemory;

function environmentOf(step) {
  if (!step.writes) return STEP_ENV;
  inMemory ??= folderInMemory() ?? '';
  return inMemory ? { ...STEP_ENV, TMPDIR: inMemory } : STEP_ENV;
}

async function perform(step) {
  const since = performance.now();
  const result = { step, state: 'PASS', note: '', output: '', time: '' };
  console.log(`>> ${step.name}: ${step.what}`);
  const passed = async (commands) => {
    for (const command of commands) {
      const niceness = step.long || step.alone ? 0 : FILLING;
      const { code, output } = await run(command, { env: environmentOf(step), niceness });
      result.output += output;
      if (code !== 0) return false;
    }
    return true;
  };
  const noteFlaky = (names) => {
    result.state = 'FLAKY';
    result.note = `failed at first, passed when run again: ${names.join(', ')}`;
  };
  try {
    if (!(await passed(await step.commands(rest)))) {
      result.state = 'FAIL';
      const second = step.again?.();
      if (second && (await passed(second.commands))) noteFlaky(second.names);
    } else {
      const names = step.flaky?.() ?? [];
      if (names.length) noteFlaky(names);
    }
  } catch (error) {
    result.state = error instanceof Nothing ? 'NONE' : 'FAIL';
    result.note = error.message;
    if (!(error instanceof Nothing || error instanceof UserError)) result.output += `${error.stack}\n`;
  }
  result.time = seconds(since);
  if (result.state === 'FAIL' && step.readable) result.output = step.readable(result.output);
  const show = ['FAIL', 'FLAKY'].includes(result.state) || step.shown || values.verbose;
  if (show && result.output) {
    const rule = '-'.repeat(Math.max(8, 100 - step.name.length));
    console.log(`\n-- ${step.name} ${rule}\n${result.output.trimEnd()}\n`);
  }
  console.log(`<< ${step.name}: ${result.state} ${result.time}${result.note ? ` (${result.note})` : ''}`);
  return result;
}

/**
 * Runs two steps at a time, since most use one core, except those that must run alone. The longest begins first, so that
 * the others fill the cores beside it and none of them is left to the end. With --quick none is alone: one window, which
 * waits for half of its time, has cores enough beside the longest.
 */
async function performAll(steps) {
  const results = [];
  const isAlone = (step) => step.alone && !values.quick;
  const queue = steps.filter((step) => !isAlone(step)).sort((one, other) => !!other.long - !!one.long);
  const worker = async () => {
    for (let step = queue.shift(); step; step = queue.shift()) results.push(await perform(step));
  };
  await Promise.all([worker(), worker()]);
  for (const step of steps.filter(isAlone)) results.push(await perform(step));
  return steps.map((step) => results.find((result) => result.step === step));
}

main(async () => {
  const steps = selected();
  const since = performance.now();
  // It is large, so it is downloaded while other steps run.
  if (steps.some(({ name }) => name === 'e2e')) codeServer = installCodeServer();
  codeServer?.catch(() => undefined); // the error is reported where it is awaited
  await setup();
  const results = await performAll(steps);
  const width = Math.max(...results.map(({ step }) => step.name.length));
  console.log('');
  for (const { step, state, time, note } of results) {
    console.log(
      `${state}  ${step.name.padEnd(width)}  ${time.padStart(8)}  ${step.what}${note ? ` (${note})` : ''}`,
    );
  }
  const count = (state) => results.filter((result) => result.state === state).length;
  const [passed, flaky, failed, none] = ['PASS', 'FLAKY', 'FAIL', 'NONE'].map(count);
  console.log(`\nall steps: ${seconds(since)}`);
  const rare = [flaky && `${flaky} flaky`, none && `${none} skipped`]
    .filter(Boolean)
    .map((words) => `, ${words}`);
  console.log(`${passed} passed, ${failed} failed${rare.join('')}`);
  // What fails now and then is a defect, so it doesn't pass where changes are decided about.
  if (failed || (flaky && process.env.CI) || !(passed + flaky)) process.exitCode = 1;
});
