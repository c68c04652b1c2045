// The run's steps, the lines that grow from step to step, and annotations along the run.

import { Page } from './support/page';
import { RealServer } from './support/server';
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { annotated } from '../e2e/snapshots.mjs';

const FILE = 'train.pickle';
const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-steps-'));
const at = (name: string): string => path.join(folder, name);

/** What `memlens steps --json` prints. */
interface Steps {
  readonly steps: { readonly count: number };
  readonly growth: { readonly rows: readonly { readonly frame: { readonly line: number } }[] };
}

let server: RealServer;
let page: Page;

before(async () => {
  cpSync('samples', folder, { recursive: true });
  writeFileSync(at('annotated.pickle'), annotated());
  server = await RealServer.start(folder);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

test('the leak of the sample is the first line that grows, and a click opens it', async () => {
  const reported: Steps = await server.memlens(folder, 'steps', FILE);
  const [leak] = reported.growth.rows;
  page = await Page.open(server, at(FILE));
  assert.ok(page.one('.lanes').hidden, 'it has no annotations');
  await page.command('pane.steps');
  assert.match(page.text('.steps-how'), /detected from the repeating pattern/);
  const steps = (): HTMLElement[] => page.all('.steps-table tbody tr');
  assert.equal(steps().length, reported.steps.count);
  const first = page.one('.growth-table tbody tr');
  assert.match(first.textContent, /more after every step/);
  assert.match(first.textContent, new RegExp(`train\\.py:${leak!.frame.line}`));

  await page.click(steps()[2]!);
  assert.deepEqual(page.all('.steps-table tbody tr[aria-current=true]'), [steps()[2]]);

  await page.click(first);
  const opened = page.last('openSource')!;
  assert.deepEqual([path.basename(opened.file), opened.line], ['train.py', leak!.frame.line]);
  const source = readFileSync(at('train.py'), 'utf8').split('\n');
  assert.match(source[opened.line - 1]!, /self\.predictions\.append/);
});

test('a click on an annotation places the cursors around it and shows it; noise is hidden by default', async () => {
  page = await Page.open(server, at('annotated.pickle'));
  const items = (): HTMLElement[] => page.all('.lanes .lane-item');
  assert.equal(items().length, 6, 'three steps and what is in them');
  assert.match(page.text('.lanes-noise'), /1 hidden/);
  const whole = window.memlensTest!.camera();
  await page.click('.lanes .lane-item', 'ProfilerStep#2');
  const camera = window.memlensTest!.camera();
  assert.ok(camera.x1 - camera.x0 < (whole.x1 - whole.x0) / 2, 'the view shows the step');
  const shown = items().length;
  await page.click('.lanes-noise');
  assert.doesNotMatch(page.text('.lanes-noise'), /1 hidden/);
  assert.ok(items().length >= Math.max(shown, 2), 'the noise is shown, too');
  const [first] = items();
  first!.focus();
  await page.press(first!, 'ArrowRight');
  const focused = page.one('.lanes .lane-item:focus');
  assert.notEqual(focused.getAttribute('aria-label'), first!.getAttribute('aria-label'));
});
