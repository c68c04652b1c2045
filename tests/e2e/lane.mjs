// Runs a share of the test files in one process, one after the other, so that they share VS Code's server and a
// browser: starting these takes as long as the tests of many files.
import { readdirSync } from 'node:fs';
import { after, afterEach, before, describe } from 'node:test';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shareHost, stopSharedHost } from './host.mjs';

const FOLDER = path.dirname(fileURLToPath(import.meta.url));
const SUFFIX = '.test.mjs';
const LANES = 2;

/** Approximate seconds of the longest and the shortest files, so that lanes end at about the same time. */
const SECONDS = {
  ...{ lasting: 100, snapshot: 70, heap: 75, input: 65, drawing: 60, policy: 50, walks: 50, formats: 50 },
  ...{ 'first-screen': 44, flame: 42, editor: 40, compare: 40, 'live-set': 38, changes: 35 },
  ...{ 'compare-profile': 30, sql: 30, restart: 30, profile: 30, sources: 30, opening: 28, oom: 45 },
  ...{ areas: 24, map: 24, tools: 22, steps: 18, dump: 14, start: 12 },
};
const USUAL_SECONDS = 40;

const started = process.argv[1] ?? '';
let running = path.basename(started, SUFFIX);

let inLane = false;
let failed = false;

/** The name of the current test file, without its suffix. */
export const runningFile = () => running;

/** Whether a test of that file has failed. */
export const hasFailed = () => failed;

/** Whether a test file runs alone, so that its screenshots may be looked at. */
export const runsAlone = () => !inLane && started.endsWith(SUFFIX);

/** Called where several test files are run, and for a file that runs alone. */
export function noteFailures() {
  afterEach(({ passed }) => {
    failed ||= !passed;
  });
}

/** Runs the files of lane `number`. */
export function lane(number) {
  inLane = true;
  shareHost();
  noteFailures();
  for (const name of shares()[number]) {
    describe(name, () => {
      before(() => {
        running = name;
        failed = false;
      });
      return import(`./${name}${SUFFIX}`);
    });
  }
  after(stopSharedHost);
}

/** The names of all test files by lane: assigned longest first, each to the lane with the least work so far. */
function shares() {
  const seconds = (name) => SECONDS[name] ?? USUAL_SECONDS;
  const lanes = Array.from({ length: LANES }, () => ({ names: [], seconds: 0 }));
  const names = readdirSync(FOLDER)
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length));
  for (const name of names.toSorted((a, b) => seconds(b) - seconds(a) || a.localeCompare(b))) {
    const least = lanes.reduce((found, each) => (each.seconds < found.seconds ? each : found));
    least.names.push(name);
    least.seconds += seconds(name);
  }
  return lanes.map((each) => each.names);
}
