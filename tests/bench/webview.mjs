/* global window, document -- in functions that run in the page */
// Pans and zooms in Chromium with 20,000 bands, or a snapshot that a real server answers for, and prints the time per
// frame as one line of JSON.
//
//   node tests/bench/webview.mjs [--bands 20000 | --file FILE] [--frames 300] [--size 1600x1000] \
//     [--renderer webgl2|canvas2d]
//
// The frame rate of a machine without a GPU is no evidence for one that has one, so the limit is on the scripts' time:
// `scripting_ms_per_frame` is the frame's own work by the clock, `main_thread_ms_per_frame` the processor time (measured by
// Chromium) of all that its thread does from one frame to the next: input, answers, layout and painting as well, and
// without --file the simulated server's work on the picture.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { chromium } from '@playwright/test';
import { findChromium } from '../../scripts/lib/chromium.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { at, drive } from './drive.mjs';

const { values } = parseArgs({
  options: {
    bands: { type: 'string', default: '20000' },
    file: { type: 'string' },
    frames: { type: 'string', default: '300' },
    size: { type: 'string', default: '1600x1000' },
    renderer: { type: 'string', default: 'webgl2' },
  },
});
const executablePath = await findChromium();
const out = await mkdtemp(path.join(tmpdir(), 'memlens-bench-'));
const ends = [() => rm(out, { recursive: true, force: true })];
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

  const [width, height] = values.size.split('x').map(Number);
  const page = await browser.newPage({ viewport: { width, height } });
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
  if (values.file) {
    const { ask, info } = await served(path.resolve(values.file));
    await page.route('https://server.invalid/', async (route) => {
      const { json, geometry } = await ask(route.request().postDataJSON());
      await route.fulfill({
        headers: {
          'access-control-allow-origin': '*',
          'access-control-expose-headers': 'x-json-bytes',
          'x-json-bytes': String(json.length),
        },
        body: Buffer.concat([json, geometry]),
      });
    });
    await page.evaluate((known) => (window.benchInfo = known), info);
  }
  await page.addScriptTag({ content: await text('host.js') });
  await page.addScriptTag({ content: await text('webview.js') });
  await page.waitForFunction(() => document.getElementById('memlens').dataset.state === 'ready');
  // Wait for work that is done only once: the first picture, and the compilation of the code.
  await page.evaluate(drive, [0, 30]);
  await page.waitForTimeout(500);

  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find((metric) => metric.name === 'TaskDuration').value * 1000;
  };
  const frames = Number(values.frames);
  const { scripting, intervals } = await page.evaluate(drive, [0, frames]);
  const mainThread = [];
  for (let i = 0, before = await busy(); i < frames; i++) {
    await page.evaluate(drive, [i, i + 1]);
    const after = await busy();
    mainThread.push(after - before);
    before = after;
  }
  const facts = await page.evaluate(() => ({
    ...window.benchPicture,
    renderer: document.getElementById('memlens').dataset.renderer,
  }));
  console.log(
    JSON.stringify({
      scripting_ms_per_frame: spread(scripting),
      main_thread_ms_per_frame: spread(mainThread),
      frame_interval_ms: { median: at(intervals, 0.5), p95: at(intervals, 0.95) },
      frames,
      bands: facts.bands,
      rects: facts.rects,
      answers: facts.answers,
      renderer: facts.renderer,
    }),
  );
} finally {
  await browser.close();
  for (const end of ends.reverse()) await end();
}

function spread(times) {
  return { median: at(times, 0.5), p95: at(times, 0.95), most: at(times, 1) };
}

/** A real server that has a file open: what asks it, and what it says of the file. */
async function served(file) {
  const server = path.join(out, 'server.mjs');
  await build({
    ...{ absWorkingDir: ROOT, bundle: true, platform: 'node', target: 'node20', format: 'esm' },
    banner: {
      js: `import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);`,
    },
    entryPoints: ['tests/views/support/server.ts'],
    outfile: server,
  });
  const { RealServer } = await import(pathToFileURL(server).href);
  const running = await RealServer.start(path.dirname(file));
  ends.push(() => running.stop());
  const { snapshot, info } = await running.request('memlens/open', { path: file, view: 'bench' });
  const ask = async ({ method, params }) => {
    const { geometry = '', ...rest } = await running.request(method, { ...params, snapshot });
    return { json: Buffer.from(JSON.stringify(rest)), geometry: Buffer.from(geometry, 'base64') };
  };
  return { info, ask };
}
