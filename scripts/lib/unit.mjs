// Bundles the TypeScript unit tests for Node's test runner, each to one file in .cache/unit.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import path from 'node:path';
import { CACHE, ROOT } from './paths.mjs';

const FOLDERS = ['tests/webview', 'tests/extension'];
/** Tests that ask a real server, which takes four fifths of the time of all. */
const WITH_SERVER = 'tests/views';
const BUNDLES = path.join(CACHE, 'unit');

/** @returns {Promise<string[]>} the bundled tests, relative to the root */
export async function bundleUnitTests({ withServer = true } = {}) {
  const folders = withServer ? [...FOLDERS, WITH_SERVER] : FOLDERS;
  const tests = folders
    .filter((folder) => existsSync(path.join(ROOT, folder)))
    .flatMap((folder) => readdirSync(path.join(ROOT, folder)).map((name) => `${folder}/${name}`))
    .filter((file) => /\.test\.tsx?$/.test(file));
  await rm(BUNDLES, { recursive: true, force: true });
  if (!tests.length) return [];

  // Imported here because set-up, which uses this folder too, runs before node_modules exist.
  const { build } = await import('esbuild');
  const standIn = 'tests/extension/vscode.ts';
  const hasStandIn = existsSync(path.join(ROOT, standIn));
  const shared = {
    absWorkingDir: ROOT,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'warning',
    // CommonJS packages call require, which ES modules lack.
    banner: {
      js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);",
    },
  };
  // Once for all: its thousand files take Node three times as long to load.
  await build({ ...shared, entryPoints: { 'happy-dom': 'happy-dom' }, outdir: BUNDLES });
  await build({
    ...shared,
    entryPoints: tests,
    outdir: BUNDLES,
    outbase: 'tests',
    // read where a test fails: with --enable-source-maps each file would read its own, a fifth of its time
    sourcemap: 'linked',
    sourcesContent: false,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    external: hasStandIn ? [] : ['vscode'],
    plugins: [
      {
        name: 'happy-dom',
        setup: ({ onResolve }) =>
          onResolve({ filter: /^happy-dom$/ }, () => ({ path: '../happy-dom.mjs', external: true })),
      },
    ],
    loader: { '.glsl': 'text', '.vert': 'text', '.frag': 'text', '.svg': 'text' },
    // Node has no `vscode` module: tests of the extension use a fake one.
    ...(hasStandIn ? { alias: { vscode: `./${standIn}` } } : {}),
  });
  return tests.map((file) =>
    path.relative(ROOT, path.join(BUNDLES, path.relative('tests', file).replace(/\.tsx?$/, '.mjs'))),
  );
}

/** Node's output with the places in the sources, instead of those in the bundles. */
export function withSources(output) {
  const maps = new Map();
  const mapOf = (file) => {
    if (!maps.has(file)) maps.set(file, new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))));
    return maps.get(file);
  };
  return output.replace(
    /(?:file:\/\/)?[^\s()']*[\\/]unit[\\/]((?:webview|views|extension)[\\/][\w.-]+\.mjs):(\d+):(\d+)/g,
    (found, name, line, column) => {
      const file = path.join(BUNDLES, name);
      if (!existsSync(`${file}.map`)) return found;
      const { originalSource, originalLine, originalColumn } = mapOf(file).findEntry(line - 1, column - 1);
      if (originalSource === undefined) return found;
      const source = path.relative(ROOT, path.resolve(path.dirname(file), originalSource));
      return `${source}:${originalLine + 1}:${originalColumn + 1}`;
    },
  );
}
