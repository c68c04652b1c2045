import { stat } from 'node:fs/promises';
import path from 'node:path';

/** Whether there is a file at a path. */
export async function isFile(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** Whether a path leads into a folder, by its text alone: nothing is looked for. */
export function isWithin(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== '' && !path.isAbsolute(relative) && relative.split(path.sep)[0] !== '..';
}

/** Where a path may lead: a relative one to each of some folders. */
export function placesOf(file: string, folders: readonly string[]): readonly string[] {
  return path.isAbsolute(file) ? [file] : folders.map((folder) => path.join(folder, file));
}

/** Whether a path leads into some folders, whichever of its places is taken. */
export function isWithinAny(folders: readonly string[], file: string): boolean {
  const places = placesOf(file, folders);
  return places.length > 0 && places.every((place) => folders.some((folder) => isWithin(folder, place)));
}
