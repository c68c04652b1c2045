import { stat } from 'node:fs/promises';

/** Whether there is a file at a path. */
export async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
