// Bundles the two TypeScript programs: dist/extension.js (Node, loaded by VS Code) and dist/webview.js with
// dist/webview.css (the browser side). `--watch` rebuilds on changes, `--production` minifies, omits source maps and
// writes to .cache/package/dist, from which packages are made.
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { context } from 'esbuild';
import { ROOT } from './lib/paths.mjs';

const watch = process.argv.includes('--watch');
const production = process.argv.includes('--production');
const OUT = production ? '.cache/package/dist' : 'dist';

/** Prints when bundling starts and ends, and its errors, in the format that .vscode/tasks.json expects. */
let running = 0;
const reporter = {
  name: 'reporter',
  setup(build) {
    build.onStart(() => {
      if (running++ === 0) console.log('build started');
    });
    build.onEnd(({ errors, warnings }) => {
      for (const [severity, messages] of Object.entries({ error: errors, warning: warnings })) {
        for (const { location, text } of messages) {
          const { file = 'package.json', line = 1, column = 0 } = location ?? {};
          console.log(`${file}:${line}:${column + 1}: ${severity}: ${text}`);
        }
      }
      if (--running === 0) console.log('build finished');
    });
  },
};

/**
 * Makes every part that is loaded later import what is loaded first. Then esbuild keeps the latter in one file, instead
 * of one for each set of parts that share a module; a view that opens waits for every file.
 */
const WEBVIEW = 'webview/src/main.ts';
const laterParts = {
  name: 'later-parts',
  setup(build) {
    build.onResolve({ filter: /^\./ }, async ({ path: file, kind, resolveDir, importer }) => {
      if (kind !== 'dynamic-import') return undefined;
      const part = await build.resolve(file, { kind: 'import-statement', resolveDir, importer });
      return part.errors.length > 0 ? part : { path: part.path, namespace: 'later' };
    });
    build.onLoad({ filter: /.*/, namespace: 'later' }, ({ path: file }) => ({
      contents: [
        `import ${JSON.stringify(path.join(ROOT, WEBVIEW))};`,
        `export * from ${JSON.stringify(file)};`,
      ].join('\n'),
      resolveDir: path.dirname(file),
    }));
  },
};

/** @type {import('esbuild').BuildOptions} */
const shared = {
  absWorkingDir: ROOT,
  bundle: true,
  legalComments: 'none',
  logLevel: watch ? 'silent' : 'warning',
  plugins: watch ? [reporter] : [],
  minify: production,
  sourcemap: !production,
  sourcesContent: false,
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
};

/** @type {import('esbuild').BuildOptions[]} */
const programs = [
  {
    ...shared,
    entryPoints: ['extension/src/extension.ts'],
    outfile: `${OUT}/extension.js`,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['vscode'],
    // Only the language client's ES modules allow esbuild to drop unused code.
    mainFields: ['module', 'main'],
  },
  {
    ...shared,
    // What only some views need is loaded when they are first shown.
    entryPoints: { webview: WEBVIEW },
    plugins: [...shared.plugins, laterParts],
    outdir: OUT,
    chunkNames: 'webview-[hash]',
    splitting: true,
    platform: 'browser',
    format: 'esm',
    loader: { '.glsl': 'text', '.vert': 'text', '.frag': 'text', '.svg': 'text' },
  },
  {
    ...shared,
    entryPoints: ['webview/src/styles.css'],
    outfile: `${OUT}/webview.css`,
    external: ['*.ttf', '*.woff2'],
  },
];

if (!watch) await rm(path.join(ROOT, OUT), { recursive: true, force: true });

let failed = false;
for (const options of programs) {
  const [entry] = Object.values(options.entryPoints);
  if (!existsSync(path.join(ROOT, entry))) {
    console.error(`${entry} does not exist: nothing to bundle`);
    failed = true;
    continue;
  }
  const build = await context(options);
  if (watch) {
    await build.watch();
    continue;
  }
  try {
    await build.rebuild();
  } catch {
    failed = true; // esbuild has printed the error
  }
  await build.dispose();
}
if (failed) process.exitCode = 1;
