import path from 'node:path';

/** Where files of a snapshot are here: those below `prefix`, as the snapshot has it, are below `folder`. */
export interface Mapping {
  prefix: string;
  folder: string;
}

/**
 * What the place of one file says about the others of its root: what is left of both paths before the components that
 * they share at their ends. Null if not even the names are the same.
 */
export function mappingOf(foreign: string, local: string): Mapping | null {
  let [prefix, folder] = [foreign, local];
  for (;;) {
    const [theirs, ours] = [lastOf(prefix), lastOf(folder)];
    if (theirs === null || ours === null || !isSame(theirs.name, ours.name, foreign)) break;
    [prefix, folder] = [theirs.before, ours.before];
  }
  return prefix === foreign ? null : { prefix: prefix === '' ? '.' : prefix, folder };
}

/** The folders that a path of a snapshot lies in, the nearest first, and what is left of it below each. */
export function foldersOf(foreign: string): { prefix: string; below: string[] }[] {
  const found = [];
  const below: string[] = [];
  for (let last = lastOf(foreign); last !== null; last = lastOf(last.before)) {
    below.unshift(last.name);
    found.push({ prefix: last.before === '' ? '.' : last.before, below: [...below] });
  }
  return found;
}

/** A folder here as a setting has it, so that it holds wherever the workspace is. */
export function settingOf(folder: string, roots: readonly { name: string; path: string }[]): string {
  for (const root of roots) {
    const relative = path.relative(root.path, folder);
    if (path.isAbsolute(relative) || relative.split(path.sep)[0] === '..') continue;
    const variable = roots.length > 1 ? `\${workspaceFolder:${root.name}}` : '${workspaceFolder}';
    return relative === '' ? variable : `${variable}/${relative.split(path.sep).join('/')}`;
  }
  return folder;
}

/** The last component of a path of either kind, and what stands before it: with its separator if that is the root's. */
function lastOf(text: string): { name: string; before: string } | null {
  const [, before, name] = /^(.*?)([^/\\]+)$/s.exec(text) ?? [];
  if (before === undefined || name === undefined || /^[A-Za-z]:$/.test(text)) return null;
  const bare = before.replace(/[/\\]+$/, '');
  const isRoot = bare === '' || /^[A-Za-z]:$/.test(bare);
  return { name, before: isRoot ? before : bare };
}

function isSame(one: string, other: string, foreign: string): boolean {
  const windows = /^[A-Za-z]:[\\/]/.test(foreign) || (foreign.includes('\\') && !foreign.includes('/'));
  return windows ? one.toLowerCase() === other.toLowerCase() : one === other;
}
