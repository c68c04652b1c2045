// Bundles the two TypeScript programs: dist/extension.js (Node, loaded by VS Code) and dist/webview.js with
// dist/webview.css (the browser side). `--watch` keeps going, `--production` minifies and leaves source maps out.
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { context } from 'esbuild';
import { ROOT } from './lib/paths.mjs';

const watch = process.argv.includes('--watch');
const production = process.argv.includes('--production');

/** @type {import('esbuild').BuildOptions} */
const shared = {
  absWorkingDir: ROOT,
  bundle: true,
  legalComments: 'none',
  logLevel: 'warning',
  minify: production,
  sourcemap: !production,
  sourcesContent: false,
  target: 'es2022',
};

/** @type {import('esbuild').BuildOptions[]} */
const programs = [
  {
    ...shared,
    entryPoints: ['extension/src/extension.ts'],
    outfile: 'dist/extension.js',
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['vscode'],
    // The language client's ES modules are the ones that bundle to what is really used.
    mainFields: ['module', 'main'],
  },
  {
    ...shared,
    entryPoints: ['webview/src/main.ts'],
    outfile: 'dist/webview.js',
    platform: 'browser',
    format: 'iife',
    loader: { '.glsl': 'text', '.vert': 'text', '.frag': 'text', '.svg': 'text' },
  },
  {
    ...shared,
    entryPoints: ['webview/src/ui/styles.css'],
    outfile: 'dist/webview.css',
    external: ['*.ttf', '*.woff2'],
  },
];

if (!watch) await rm(path.join(ROOT, 'dist'), { recursive: true, force: true });

let failed = false;
for (const options of programs) {
  const entry = options.entryPoints[0];
  if (!existsSync(path.join(ROOT, entry))) {
    console.error(`${entry} is not there: nothing to bundle for ${options.outfile}`);
    failed = true;
    continue;
  }
  const build = await context(options);
  if (watch) {
    await build.watch();
    console.log(`watching ${entry} -> ${options.outfile}`);
    continue;
  }
  try {
    await build.rebuild();
  } catch {
    failed = true; // esbuild has printed what and where
  }
  await build.dispose();
}
if (failed) process.exitCode = 1;
