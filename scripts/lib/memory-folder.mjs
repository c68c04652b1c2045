// A folder in memory for what tests write: they make a hundred thousand small files, which cost a disk a tenth of the
// tests' processor time and waits besides.
import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import path from 'node:path';
import { alive } from './steps.mjs';

/** Linux's file system in memory. */
const SHARED = '/dev/shm';
const NAME = /^memlens-tests-(\d+)$/;
/** What the tests' files take at most, and what the tests' processes need besides. */
const FILES_BYTES = 4e9;
const PROCESSES_BYTES = 6e9;

/** The path of a new folder, which is removed when this process ends, or undefined where memory doesn't suffice. */
export function folderInMemory() {
  try {
    const { bavail, bsize } = statfsSync(SHARED);
    if (bavail * bsize < FILES_BYTES || freemem() < FILES_BYTES + PROCESSES_BYTES) return undefined;
    for (const name of readdirSync(SHARED)) {
      const owner = NAME.exec(name)?.[1];
      if (owner && !alive(Number(owner))) remove(path.join(SHARED, name));
    }
    const folder = path.join(SHARED, `memlens-tests-${process.pid}`);
    mkdirSync(folder, { mode: 0o700 });
    process.once('exit', () => remove(folder));
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
    return folder;
  } catch {
    return undefined; // another system, or nobody may write there
  }
}

const remove = (folder) => rmSync(folder, { recursive: true, force: true });
