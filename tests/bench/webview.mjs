/* global window, document -- in functions that run in the page */
// Pans and zooms in Chromium with 20,000 bands, and prints the scripting time per frame as one line of JSON.
//
//   node tests/bench/webview.mjs [--bands 20000] [--frames 300] [--renderer webgl2|canvas2d]
//
// The frame rate of a machine without a GPU is no evidence for one that has one, so the limit is on the scripts' time:
// `scripting_ms_per_frame` is the frame's own work, `all_scripts_ms_per_frame` (measured by Chromium) includes the
// handling of input and answers, and the simulated server's work on the picture.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { chromium } from '@playwright/test';
import { findChromium } from '../../scripts/lib/chromium.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { at, drive, round } from './drive.mjs';

const { values } = parseArgs({
  options: {
    bands: { type: 'string', default: '20000' },
    frames: { type: 'string', default: '300' },
    renderer: { type: 'string', default: 'webgl2' },
  },
});
const executablePath = await findChromium();
const out = await mkdtemp(path.join(tmpdir(), 'memlens-bench-'));
const browser = await chromium.launch({
  executablePath,
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
try {
  const shared = {
    ...{ absWorkingDir: ROOT, bundle: true, minify: true, target: 'es2022', logLevel: 'error' },
    loader: { '.svg': 'text' },
  };
  await build({
    ...shared,
    entryPoints: { host: 'tests/bench/webview/page.ts', webview: 'webview/src/main.ts' },
    format: 'iife',
    outdir: out,
  });
  await build({ ...shared, entryPoints: { webview: 'webview/src/styles.css' }, outdir: out });
  const text = (name) => readFile(path.join(out, name), 'utf8');

  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  page.on('pageerror', (error) => {
    throw error;
  });
  await page.setContent(
    `<!doctype html><body class="vscode-dark"><div id="memlens" data-prefer="${values.renderer}"></div>`,
  );
  await page.addStyleTag({
    content: `html{--vscode-editor-background:#1f1f1f;--vscode-editor-foreground:#ccc}${await text('webview.css')}`,
  });
  await page.evaluate((bands) => (window.benchBands = bands), Number(values.bands));
  await page.addScriptTag({ content: await text('host.js') });
  await page.addScriptTag({ content: await text('webview.js') });
  await page.waitForFunction(() => document.getElementById('memlens').dataset.state === 'ready');
  // Wait for work that is done only once: the first picture, and the compilation of the code.
  await page.evaluate(drive, 30);
  await page.waitForTimeout(500);

  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const scripts = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find((metric) => metric.name === 'ScriptDuration').value * 1000;
  };
  const before = await scripts();
  const { scripting, intervals } = await page.evaluate(drive, Number(values.frames));
  const after = await scripts();
  const facts = await page.evaluate(() => ({
    ...window.benchPicture,
    renderer: document.getElementById('memlens').dataset.renderer,
  }));
  console.log(
    JSON.stringify({
      scripting_ms_per_frame: {
        median: at(scripting, 0.5),
        p95: at(scripting, 0.95),
        most: at(scripting, 1),
      },
      all_scripts_ms_per_frame: round((after - before) / scripting.length),
      frame_interval_ms: { median: at(intervals, 0.5), p95: at(intervals, 0.95) },
      frames: scripting.length,
      bands: facts.bands,
      rects: facts.rects,
      answers: facts.answers,
      renderer: facts.renderer,
    }),
  );
} finally {
  await browser.close();
  await rm(out, { recursive: true, force: true });
}
