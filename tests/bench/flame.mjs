/* global window -- in the page */
// How long a frame of the flame graph takes in a real browser without a GPU, with that many visible boxes:
//
//   node tests/bench/flame.mjs [--boxes 100000] [--frames 60]
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { chromium } from '@playwright/test';
import { findChromium } from '../../scripts/lib/chromium.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';

const { values } = parseArgs({
  options: { boxes: { type: 'string', default: '100000' }, frames: { type: 'string', default: '60' } },
});
const out = await mkdtemp(path.join(tmpdir(), 'memlens-bench-'));
const browser = await chromium.launch({
  executablePath: await findChromium(),
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
try {
  await build({
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    target: 'es2022',
    logLevel: 'error',
    entryPoints: { page: 'tests/bench/webview/flame-page.ts' },
    format: 'iife',
    outdir: out,
  });
  const page = await browser.newPage({ viewport: { width: 1600, height: 1300 } });
  await page.setContent('<!doctype html><body class="vscode-dark">');
  await page.addStyleTag({
    content:
      'body{margin:0}.flame-plot,.flame-surface{position:absolute;inset:0}canvas{position:absolute;width:100%;height:100%}',
  });
  await page.addScriptTag({ content: await readFile(path.join(out, 'page.js'), 'utf8') });
  const { boxes, times } = await page.evaluate(
    ([wanted, frames]) => window.benchFlame(wanted, frames),
    [Number(values.boxes), Number(values.frames)],
  );
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) =>
    Math.round(100 * sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]) / 100;
  console.log(
    JSON.stringify({
      boxes,
      frames: times.length,
      frame_ms: { median: at(0.5), p95: at(0.95), most: at(1) },
    }),
  );
} finally {
  await browser.close();
  await rm(out, { recursive: true, force: true });
}
