import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { headOf, isMemoryViz } from '../../extension/src/commands/pages';
import { inOrder, kindOf, whenOf } from '../../extension/src/commands/siblings';

it('files beside one are offered with the nearest earlier one first', () => {
  const all = [-50_000, 20_000, -10_000, 70_000, 0].map((laterMs) => ({ path: `/${laterMs}`, laterMs }));
  assert.deepEqual(
    inOrder(all, '/run').map(({ laterMs }) => laterMs),
    [0, -10_000, -50_000, 20_000, 70_000],
  );
  // as files that were copied together, or unpacked
  const copied = ['/other', '/medium_512', '/small_128', '/medium_128'].map((path, at) => ({
    ...{ path, laterMs: 300 * at - 600 },
  }));
  assert.deepEqual(
    inOrder(copied, '/medium_1024').map(({ path }) => path),
    ['/medium_128', '/medium_512', '/other', '/small_128'],
  );
});

it('the same recorder makes files of a kind', () => {
  for (const [one, other] of [
    ['a.pickle', 'run 2.pkl'],
    ['massif.out.71', 'massif.out.1123'],
    ['heap.1.pb.gz', 'heap.22.pb.gz'],
    ['heaptrack.app.12.zst', 'heaptrack.app.9.zst'],
    ['before.heapsnapshot', 'after.heapsnapshot'],
  ] as const)
    assert.equal(kindOf(one), kindOf(other), one);
  assert.notEqual(kindOf('train.pickle'), kindOf('words.pb.gz'));
  assert.notEqual(kindOf('train.pickle'), kindOf('train.py'));
});

it('when they were written is shown in words', () => {
  assert.equal(whenOf(-2 * 3600_000), 'written 2 hours earlier');
  assert.equal(whenOf(61_000), 'written 1 minute later');
  assert.equal(whenOf(-86_400_000), 'written 1 day earlier');
  assert.equal(whenOf(300), 'written at the same time');
});

it('a page of memory_viz is recognised by its beginning', () => {
  const page = (script: string): string =>
    `\n<!DOCTYPE html>\n<html>\n<body>\n<script type="module">\n${script}`;
  const own = 'import {add_local_files} from "https://cdn.example/torch/utils/viz/MemoryViz.js"';
  assert.ok(isMemoryViz(page(own)));
  assert.ok(!isMemoryViz(page('import {a} from "https://cdn.example/other.js"')));
  assert.ok(!isMemoryViz(`about ${own}`));
});

it('a pipe that is named as a page is not waited for', { skip: process.platform === 'win32' }, async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-page-'));
  try {
    const pipe = path.join(folder, 'a.html');
    execFileSync('mkfifo', [pipe]);
    const late = new Promise<string>((resolve) => setTimeout(() => resolve('waited'), 5_000).unref());
    assert.equal(await Promise.race([headOf(pipe), late]), '');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
