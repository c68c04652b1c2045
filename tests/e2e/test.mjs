// What test files import from the runner: Playwright's `test`, whose workers each share one host among their files.
import { test as base } from '@playwright/test';
import { shareHost, stopSharedHost } from './host.mjs';
import { TIMEOUT_MS } from './waiting.mjs';

/** Starting a host, and the stop of all its processes. */
const HOST_TIMEOUT_MS = 2 * TIMEOUT_MS;

/**
 * After a failure Playwright ends the worker, and with it the host, so that the file is run again in a new window, a
 * new server and a new browser.
 */
export const test = base.extend({
  sharedHost: [
    // oxlint-disable-next-line no-empty-pattern -- Playwright reads the names of fixtures from the pattern
    async ({}, use) => {
      shareHost();
      await use();
      await stopSharedHost();
    },
    { scope: 'worker', auto: true, timeout: HOST_TIMEOUT_MS },
  ],
});

/** Adds a line to the report of the running test. */
export function note(text) {
  test.info().annotations.push({ type: 'measured', description: text });
}
