'use strict';
// Loaded by Node.js before a program that `memlens run` starts. A worker samples what the main thread allocates, and
// writes the profile as memory fills: it needs hardly any memory, unlike a heap snapshot, during which V8 can need
// twenty times the heap. So it is there when the kernel ends the process. Its settings are those of launching.py.
//
// The program is another's: whatever goes wrong here must not end it.

const { Worker, isMainThread, threadId, workerData } = require('node:worker_threads');

const INTERVAL_MS = 50;
const SAMPLED_BYTES = 32 * 1024;
/** A profile is written when so much of the heap's limit or of the container's memory is used. */
const PARTS = [0.5, 0.7, 0.85];
/** Heap snapshots at the heap's limit, where there is so many times as much memory as that. */
const SNAPSHOTS = 2;
const ROOM = 4;

function begin(settings) {
  const v8 = require('node:v8');
  const heapLimit = v8.getHeapStatistics().heap_size_limit;
  if (settings.container && heapLimit * ROOM <= settings.container.limit && v8.setHeapSnapshotNearHeapLimit)
    v8.setHeapSnapshotNearHeapLimit(SNAPSHOTS);
  const worker = new Worker(__filename, {
    workerData: { memlens: { ...settings, heapLimit } },
    execArgv: [],
  });
  worker.on('error', () => undefined);
  worker.unref();
}

function watch({ folder, at, container, heapLimit }) {
  const fs = require('node:fs');
  const path = require('node:path');
  const { Session } = require('node:inspector');
  const session = new Session();
  session.connectToMainThread();
  session.post('HeapProfiler.startSampling', { samplingInterval: SAMPLED_BYTES });
  const file = unused((name) => fs.existsSync(path.join(folder, name)));
  let passed = 0;

  /** What all processes of the container use, without the cache of files. */
  function usedOfContainer() {
    const lines = fs.readFileSync(container.statistics, 'ascii').split('\n');
    const line = lines.find((each) => each.startsWith(`${container.line} `));
    return line === undefined ? process.memoryUsage.rss() : Number(line.split(' ')[1]);
  }

  function partsPassed(heapUsed) {
    if (at) return process.memoryUsage.rss() >= at ? PARTS.length : 0;
    const used = Math.max(heapUsed / heapLimit, container ? usedOfContainer() / container.limit : 0);
    return PARTS.filter((part) => used >= part).length;
  }

  function write({ profile }) {
    fs.mkdirSync(folder, { recursive: true });
    const partial = path.join(folder, `${file}.partial`);
    fs.writeFileSync(partial, JSON.stringify(profile), { mode: 0o600 });
    fs.renameSync(partial, path.join(folder, file));
  }

  function written(found) {
    write(found);
    if (passed === PARTS.length) clearInterval(timer);
  }

  // a busy main thread answers what was posted before only when it is interrupted by the next, so this goes on
  const timer = setInterval(() => {
    session.post('Runtime.getHeapUsage', (error, usage) => {
      const now = error ? 0 : partsPassed(usage.usedSize);
      if (now <= passed) return;
      passed = now;
      session.post('HeapProfiler.getSamplingProfile', (failure, found) => failure || written(found));
    });
  }, INTERVAL_MS);
}

/** The name of the profile: that of an earlier process with the same id stays. */
function unused(exists) {
  const name = (number) => `limit-${process.pid}${number > 1 ? `-${number}` : ''}.heapprofile`;
  let number = 1;
  while (exists(name(number))) number += 1;
  return name(number);
}

try {
  if (isMainThread && threadId === 0 && process.env.MEMLENS_RECORD_NODE)
    begin(JSON.parse(process.env.MEMLENS_RECORD_NODE));
  else if (workerData?.memlens) watch(workerData.memlens);
} catch {
  // nothing is sampled
}
