// Bundles the TypeScript unit tests for Node's test runner, each to one file in .cache/unit.
import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { CACHE, ROOT } from './paths.mjs';

const FOLDERS = ['tests/webview', 'tests/views', 'tests/extension'];

/** @returns {Promise<string[]>} the bundled tests, relative to the root */
export async function bundleUnitTests() {
  const tests = FOLDERS.filter((folder) => existsSync(path.join(ROOT, folder)))
    .flatMap((folder) => readdirSync(path.join(ROOT, folder)).map((name) => `${folder}/${name}`))
    .filter((file) => /\.test\.tsx?$/.test(file));
  const outdir = path.join(CACHE, 'unit');
  await rm(outdir, { recursive: true, force: true });
  if (!tests.length) return [];

  // Imported here because set-up, which uses this folder too, runs before node_modules exist.
  const { build } = await import('esbuild');
  const standIn = 'tests/extension/vscode.ts';
  const hasStandIn = existsSync(path.join(ROOT, standIn));
  await build({
    absWorkingDir: ROOT,
    entryPoints: tests,
    outdir,
    outbase: 'tests',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    sourcemap: 'inline',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // a DOM for components, which loads some of its parts by name
    external: ['happy-dom', ...(hasStandIn ? [] : ['vscode'])],
    logLevel: 'warning',
    loader: { '.glsl': 'text', '.vert': 'text', '.frag': 'text', '.svg': 'text' },
    // Node has no `vscode` module: tests of the extension use a fake one.
    ...(hasStandIn ? { alias: { vscode: `./${standIn}` } } : {}),
    // CommonJS packages call require, which ES modules lack.
    banner: {
      js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);",
    },
  });
  return tests.map((file) =>
    path.relative(ROOT, path.join(outdir, path.relative('tests', file).replace(/\.tsx?$/, '.mjs'))),
  );
}
