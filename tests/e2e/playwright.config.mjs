// The end-to-end tests: `npm test -- --only e2e`. Browsers are never downloaded: host.mjs launches the system's.
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from '@playwright/test';

const FOLDER = path.dirname(fileURLToPath(import.meta.url));
const CACHE = path.join(FOLDER, '..', '..', '.cache', 'e2e');

export default defineConfig({
  testDir: FOLDER,
  testMatch: '*.test.mjs',
  outputDir: path.join(CACHE, 'failures'),
  // Files are shared among the workers; the tests of a file continue one another. There is one more than there are
  // cores, because each waits for a quarter of its time: for a window, a server, what a person would see.
  workers: Math.min(availableParallelism() + 1, 4),
  // A limit for tests that hang; what they wait for has limits of its own (waiting.mjs).
  timeout: 240_000,
  // A file that passes only then is counted as flaky, which fails in CI.
  retries: 1,
  failOnFlakyTests: Boolean(process.env.CI),
  forbidOnly: Boolean(process.env.CI),
  reporter: [['list'], ['json', { outputFile: path.join(CACHE, 'results.json') }]],
  use: {
    screenshot: 'only-on-failure',
    // Its actions, and the console and requests of the window: a sixth of the tests' processor time, so that only CI, where
    // a failure may not come again, records the first run. Recording the DOM as well slows the workbench down.
    trace: {
      mode: process.env.CI ? 'retain-on-failure' : 'on-first-retry',
      screenshots: false,
      snapshots: false,
      sources: true,
    },
  },
});
