// Finds a Chromium for the end-to-end tests; on Debian and Ubuntu, as root, it is installed if it is missing.
import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import { UserError, must, seconds } from './steps.mjs';

const NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
  'microsoft-edge',
];
const ELSEWHERE = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
];

const runnable = (file) => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Returns the first of the programs that is on the path. */
export function onPath(...names) {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  for (const name of names) {
    for (const folder of folders) {
      const file = path.join(folder, name);
      if (runnable(file)) return file;
    }
  }
  return undefined;
}

/** @param {{install?: boolean}} [options] install: install Debian's package if there is no Chromium */
export async function findChromium({ install = false } = {}) {
  if (process.env.CHROMIUM) {
    if (runnable(process.env.CHROMIUM)) return process.env.CHROMIUM;
    throw new UserError(`CHROMIUM is ${process.env.CHROMIUM}, which is not a program.`);
  }
  const program = onPath(...NAMES) ?? ELSEWHERE.find((file) => existsSync(file));
  if (program) return program;
  if (install && process.getuid?.() === 0 && onPath('apt-get')) {
    const since = performance.now();
    console.log('Chromium: apt-get install chromium fonts-dejavu-core');
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    await must(['apt-get', 'update', '-qq'], { env });
    await must(
      ['apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'],
      { env },
    );
    console.log(`Chromium: installed in ${seconds(since)}`);
    const installed = onPath(...NAMES);
    if (installed) return installed;
  }
  throw new UserError(
    'The end-to-end tests need Chromium or Chrome: install one (Debian: apt-get install chromium fonts-dejavu-core), ' +
      'or name one in CHROMIUM.',
  );
}
