import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';

const ROOT = process.cwd();
const IMPORT = /^(?:import|export)\s(?:[^;'"]*?\sfrom\s)?'(\.[^']+)'/gm;

/** Files by what they import, types included. */
function imports(): Map<string, string[]> {
  const files = ['extension', 'webview/src']
    .flatMap((folder) => readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => /\.tsx?$/.test(file) && !file.includes('node_modules'));
  const known = new Set(files);
  const resolved = (from: string, name: string): string | undefined => {
    const base = path.join(path.dirname(from), name);
    return [`${base}.ts`, `${base}.tsx`, path.join(base, 'index.ts')].find((file) => known.has(file));
  };
  return new Map(
    files.map((file) => {
      const names = [...readFileSync(file, 'utf8').matchAll(IMPORT)].map((match) => match[1] ?? '');
      return [file, names.flatMap((name) => resolved(file, name) ?? [])];
    }),
  );
}

it('no file imports itself by way of others', () => {
  const graph = imports();
  assert.ok([...graph.values()].flat().length > 1000, 'imports are found');
  const done = new Set<string>();
  const walk = (file: string, above: readonly string[]): void => {
    const begin = above.indexOf(file);
    const circle = [...above.slice(begin), file].map((each) => path.relative(ROOT, each)).join(' -> ');
    assert.equal(begin, -1, circle);
    if (done.has(file)) return;
    for (const next of graph.get(file) ?? []) walk(next, [...above, file]);
    done.add(file);
  };
  for (const file of graph.keys()) walk(file, []);
});
