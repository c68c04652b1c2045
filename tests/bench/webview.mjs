/* global window, document, PointerEvent, WheelEvent, requestAnimationFrame -- in functions that run in the page */
// Pan and zoom in Chromium with 20,000 bands, and print what a frame costs in scripting as one line of JSON.
//
//   node tests/bench/webview.mjs [--bands 20000] [--frames 300] [--renderer webgl2|canvas2d]
//
// The frame rate of a machine without a GPU says nothing of one that has one, so what is held to a figure is the time
// of the scripts: `scripting_ms_per_frame` is the frame's own work, `all_scripts_ms_per_frame` (as Chromium counts
// it) has the handling of input and answers in it as well, the made-up server's making of the picture too.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { findChromium } from '../../scripts/lib/chromium.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';

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
  const shared = { absWorkingDir: ROOT, bundle: true, minify: true, target: 'es2022', logLevel: 'error' };
  await build({
    ...shared,
    entryPoints: { host: 'tests/bench/webview/page.ts', webview: 'webview/src/main.ts' },
    format: 'iife',
    outdir: out,
  });
  await build({ ...shared, entryPoints: { webview: 'webview/src/ui/styles.css' }, outdir: out });
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
  // Let what is done once be done: the first picture, the compiler's first look at the code.
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

/** In the page: one wheel turn a frame, zooming in and out and panning, with the pointer over the picture. */
async function drive(frames) {
  const surface = document.querySelector('.plot-surface');
  const box = surface.getBoundingClientRect();
  const times = window.memlensTest.frameTimes;
  const scripting = [];
  const intervals = [];
  let last = 0;
  for (let i = 0; i < frames; i++) {
    const at = {
      bubbles: true,
      cancelable: true,
      clientX: box.left + box.width * (0.5 + 0.3 * Math.sin(i / 40)),
      clientY: box.top + box.height * 0.5,
    };
    surface.dispatchEvent(new PointerEvent('pointermove', at));
    const phase = i % 90;
    const turn =
      phase < 30 ? { deltaY: -60 } : phase < 60 ? { deltaX: 25 * (i % 180 < 90 ? 1 : -1) } : { deltaY: 60 };
    surface.dispatchEvent(new WheelEvent('wheel', { ...at, ...turn }));
    const now = await new Promise((resolve) => {
      requestAnimationFrame((time) => {
        setTimeout(resolve, 0, time);
      });
    });
    scripting.push(times[times.length - 1]);
    if (last > 0) intervals.push(now - last);
    last = now;
  }
  return { scripting, intervals };
}

function at(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
}

function round(value) {
  return Math.round(value * 100) / 100;
}
