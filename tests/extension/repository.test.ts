// The files that a forge, bots and hooks read: they parse, what they run exists, and keys are where they belong.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';

interface Step {
  uses?: string;
  run?: string;
  env?: Record<string, string>;
}
interface Job {
  permissions?: Record<string, string>;
  environment?: string;
  steps: Step[];
}
interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}
interface Form {
  name: string;
  body: { id?: string; attributes: { description?: string } }[];
}
interface Hooks {
  repos: { repo: string; hooks: { entry: string }[] }[];
}

const ROOT = process.cwd();
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
// SAFETY: the file is one of the project's own.
const workflow = (file: string): Workflow => parse(read(file)) as Workflow;
// SAFETY: likewise.
const form = (file: string): Form => parse(read(file)) as Form;
const under = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder))
    .filter((name) => name.endsWith('.yml') && name !== 'config.yml')
    .map((name) => `${folder}/${name}`);

const manifest = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>;
  devDependencies: Record<string, string>;
};
const STEPS = [...read('scripts/test.mjs').matchAll(/^ {4}name: '([\w-]+)'/gm)].map((found) => found[1]);
const WORKFLOWS = under('.github/workflows');
const jobs = WORKFLOWS.flatMap((file) =>
  Object.entries(workflow(file).jobs).map(([name, job]) => ({ file, name, job })),
);
const commands = jobs.flatMap(({ job }) => job.steps.flatMap(({ run }) => run?.split('\n') ?? []));

function assertExists(command: string): number {
  let looked = 0;
  const all = (pattern: RegExp): string[] =>
    [...command.matchAll(pattern)].map((found) => {
      looked += 1;
      return found[1] ?? '';
    });
  for (const script of all(/\bnpm run ([\w:-]+)/g)) assert.ok(script in manifest.scripts, command);
  for (const _ of all(/\b(npm test)\b/g)) assert.ok('test' in manifest.scripts);
  for (const steps of all(/\bnpm test -- --only ([\w,-]+)/g))
    for (const step of steps.split(',')) assert.ok(STEPS.includes(step), `${command}: no step ${step}`);
  for (const file of all(
    /\b(?:node|python|bash)(?: --[\w=-]+)* ((?:scripts|tests|node_modules)\/[\w./@-]+)/g,
  ))
    assert.ok(existsSync(path.join(ROOT, file)), `${command}: no ${file}`);
  for (const program of all(/\bnpx --no-install (\w+)/g))
    assert.ok(
      [program, `@vscode/${program}`, `@${program}/test`].some((name) => name in manifest.devDependencies),
      command,
    );
  // what isn't in the lock must not run
  assert.doesNotMatch(command, /\bnpx (?!--no-install )/);
  return looked;
}

test('what workflows and hooks run exists', () => {
  assert.ok(STEPS.length > 8);
  const looked = commands.map(assertExists).reduce((sum, count) => sum + count, 0);
  assert.ok(looked >= 15, `only ${looked} commands were looked at`);
  // SAFETY: likewise.
  const { repos } = parse(read('.pre-commit-config.yaml')) as Hooks;
  const hooks = repos.flatMap((repo) => repo.hooks);
  assert.ok(hooks.length >= 4);
  for (const { entry } of hooks) assert.ok(assertExists(entry) > 0, entry);
  const container = JSON.parse(read('.devcontainer/devcontainer.json')) as { updateContentCommand: string };
  assert.equal(assertExists(container.updateContentCommand), 1);
});

test('every change runs all tests on Linux, and unit tests, lint and packaging on macOS and Windows', () => {
  const { jobs: ci } = workflow('.github/workflows/ci.yml');
  const runs = (name: string): string[] => ci[name]?.steps.flatMap(({ run }) => run ?? []) ?? [];
  assert.ok(runs('test').includes('npm test'));
  assert.ok(runs('sanitizers').includes('npm run fuzz -- --sanitize'));
  const systems = runs('systems').join('\n');
  for (const word of ['python,unit', 'ruff', 'oxlint', 'npm run package\n', 'npm run package:check'])
    assert.ok(systems.includes(word), word);
});

test('actions are pinned by their commits, each with its whole version', () => {
  const lines = WORKFLOWS.flatMap((file) => read(file).split('\n')).filter((line) => /\buses:/.test(line));
  assert.ok(lines.length >= 15);
  for (const line of lines) assert.match(line, /uses: [\w./-]+@[0-9a-f]{40} # .*v\d+\.\d+\.\d+$/);
});

test('Node.js and Python are pinned by their whole versions, and containers by their content', () => {
  const text = WORKFLOWS.map(read).join('\n');
  const pythons = [...text.matchAll(/python-version: (?:'\$\{\{ matrix\.(\w+) \}\}'|([^,\s}]+))/g)];
  assert.equal(pythons.length, text.match(/actions\/setup-python@/g)?.length);
  const listed = [...text.matchAll(/^ +python: \[(.+)\]$/gm)].flatMap((found) => found[1]?.split(', ') ?? []);
  for (const line of ['3.11', '3.12', '3.13', '3.14'])
    assert.equal(listed.filter((version) => version.startsWith(`${line}.`)).length, 1);
  for (const version of [...pythons.flatMap((found) => (found[1] === 'python' ? [] : [found[2]])), ...listed])
    assert.match(version ?? '', /^3\.\d+\.\d+$/);
  const versions = [...text.matchAll(/node-version: ([^,\s}]+)/g)].map((found) => found[1] ?? '');
  assert.ok(versions.length >= 8);
  assert.match(versions[0] ?? '', /^\d+\.\d+\.\d+$/);
  assert.deepEqual(new Set(versions), new Set([versions[0]]));
  const images = read('scripts/package/alpine.Dockerfile').match(/^FROM .+$/gm) ?? [];
  assert.ok(images.length >= 4);
  for (const image of images) assert.match(image, /^FROM [a-z]+:[\d.]+-alpine@sha256:[0-9a-f]{64}$/);
  // no other image is named
  for (const command of commands.filter((each) => each.includes('docker run') || /-alpine\b/.test(each)))
    assert.doesNotMatch(command, /\w:[\w$.]+-alpine/);
  assert.match(text, /for image in .*scripts\/package\/alpine\.Dockerfile/);
});

test('keys and rights are each in a job that runs nothing else', () => {
  for (const file of WORKFLOWS) assert.deepEqual(workflow(file).permissions, { contents: 'read' });
  let keys = 0;
  let tokens = 0;
  for (const { file, name, job } of jobs) {
    const run = job.steps.map((step) => step.run ?? '').join('\n');
    if (JSON.stringify(job).includes('secrets.')) {
      keys += 1;
      assert.equal(job.permissions, undefined, `${file}: ${name}`);
      assert.ok(job.environment !== undefined);
    }
    // where a right is, nothing runs that isn't in a lock
    if (Object.values(job.permissions ?? {}).includes('write')) {
      tokens += 1;
      assert.doesNotMatch(run, /\b(npm|npx|node|pip|uv|python -)/, `${file}: ${name}`);
    }
  }
  assert.deepEqual([keys, tokens], [1, 3]);
  const pypi = jobs.find(({ name }) => name === 'pypi');
  assert.deepEqual(pypi?.job.permissions, { 'id-token': 'write' });
});

test("what starts a program through Windows' shell gives it names as arguments", async () => {
  // SAFETY: the module exports it.
  const { forWindowsShell } = (await import(
    pathToFileURL(path.join(ROOT, 'scripts/lib/steps.mjs')).href
  )) as { forWindowsShell: (argument: string) => string };
  assert.equal(forWindowsShell('C:\\a b\\x&calc|y^.pprof'), '"C:\\a b\\x&calc|y^.pprof"');
  assert.equal(forWindowsShell('C:\\x\\'), '"C:\\x\\\\"');
  for (const name of ['x"&calc&"', 'x\ncalc', 'x\0']) assert.throws(() => forWindowsShell(name), /Rename it/);
  // no other module of the scripts starts a shell
  const scripts = readdirSync(path.join(ROOT, 'scripts'), { recursive: true }).map(String);
  const starting = scripts.filter(
    (name) => name.endsWith('.mjs') && /\bshell\b\s*[:,]/.test(read(`scripts/${name}`)),
  );
  assert.deepEqual(starting, [path.join('lib', 'steps.mjs')]);
});

test('every issue form asks for diagnostics, by the names of the command', () => {
  const forms = under('.github/ISSUE_TEMPLATE');
  assert.ok(forms.length >= 3);
  const title = (JSON.parse(read('package.nls.json')) as Record<string, string>)['command.copyDiagnostics'];
  assert.ok(title !== undefined);
  for (const file of forms) {
    const field = form(file).body.find(({ id }) => id === 'diagnostics');
    const description = field?.attributes.description ?? '';
    assert.ok(description.includes('`memlens diagnostics`'), file);
    assert.ok(description.includes(`"Memlens: ${title}"`), file);
  }
});
