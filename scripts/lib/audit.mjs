// Queries the OSV database (osv.dev), which has the advisories of both registries, for the packages in the lock files.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './paths.mjs';

const SERVICE = process.env.MEMLENS_OSV ?? 'https://api.osv.dev';
const PATIENCE_MS = 20_000;
const MOST_QUERIES = 1000;
const BUNDLED = ['extension/src', 'extension/shared', 'webview/src'];

/** The service can't be reached, for example without a network. */
export class NoAnswer extends Error {}

/**
 * Returns the pinned packages; `ships` is false for those that are for development only.
 * @returns {{ecosystem: 'npm' | 'PyPI', name: string, version: string, ships: boolean}[]}
 */
export function pinned(root = ROOT) {
  const read = (file) => readFileSync(path.join(root, file), 'utf8');
  return [
    ...npmPackages(JSON.parse(read('package-lock.json')), root),
    ...pythonPackages(read('pyserver/requirements.lock'), read('pyserver/pyproject.toml')),
  ];
}

/** All of npm's are development dependencies; those that ship are what the sources of the bundles import. */
function npmPackages(lock, root) {
  const shipped = new Set();
  const queue = importedPackages(root).map((name) => ['', name]);
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [parent, name] = next;
    // a package's nested dependencies take precedence over shared ones
    const place = [`${parent}/node_modules/${name}`, `node_modules/${name}`].find(
      (one) => lock.packages[one],
    );
    if (!place || shipped.has(place)) continue;
    shipped.add(place);
    queue.push(...Object.keys(lock.packages[place].dependencies ?? {}).map((wanted) => [place, wanted]));
  }
  return Object.entries(lock.packages)
    .filter(([place, entry]) => place.includes('node_modules/') && entry.version && !entry.link)
    .map(([place, entry]) => {
      const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return {
        ecosystem: 'npm',
        name: entry.name ?? name,
        version: entry.version,
        ships: shipped.has(place),
      };
    });
}

function importedPackages(root) {
  const names = new Set();
  for (const folder of BUNDLED) {
    for (const file of readdirSync(path.join(root, folder), { recursive: true })) {
      if (!/\.tsx?$/.test(file)) continue;
      const text = readFileSync(path.join(root, folder, file), 'utf8');
      for (const [, name] of text.matchAll(/from '((?:@[^/']+\/)?[^./'][^/']*)/g)) names.add(name);
    }
  }
  return [...names];
}

function pythonPackages(lock, project) {
  const direct = new Set(
    [...(/^dependencies = \[(.*?)^\]/ms.exec(project)?.[1] ?? '').matchAll(/"([\w.-]+)/g)].map(
      ([, name]) => name,
    ),
  );
  // A package's block ends with a comment about the packages that require it.
  const blocks = [...lock.matchAll(/^([\w.-]+)==([^\s;\\]+)(.*?)(?=^[\w.-]+==|$(?![^]))/gms)];
  const parents = new Map(
    blocks.map(([, name, , rest]) => [
      name,
      [...rest.matchAll(/^ +# +(?:via +)?([\w.-]+)$/gm)].map(([, parent]) => parent),
    ]),
  );
  const ships = (name, seen = new Set()) => {
    if (direct.has(name)) return true;
    if (seen.has(name)) return false;
    seen.add(name);
    return (parents.get(name) ?? []).some((parent) => ships(parent, seen));
  };
  return blocks.map(([, name, version]) => ({ ecosystem: 'PyPI', name, version, ships: ships(name) }));
}

/**
 * Returns the packages that have advisories, with the advisories' ids.
 * @throws {NoAnswer} if the service can't be reached or its answer is invalid.
 */
export async function advisories(packages, service = SERVICE) {
  const affected = [];
  for (let start = 0; start < packages.length; start += MOST_QUERIES) {
    const part = packages.slice(start, start + MOST_QUERIES);
    const queries = part.map(({ ecosystem, name, version }) => ({ package: { ecosystem, name }, version }));
    const results = await asked(`${service}/v1/querybatch`, { queries });
    if (results?.length !== part.length) throw new NoAnswer(`${service} answers something else`);
    for (const [index, result] of results.entries()) {
      const ids = (result?.vulns ?? []).map(({ id }) => id);
      if (ids.length) affected.push({ ...part[index], ids });
    }
  }
  return affected;
}

async function asked(url, body) {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (!answer.ok) throw new Error(`its status is ${answer.status}`);
    return (await answer.json()).results;
  } catch (error) {
    throw new NoAnswer(`${new URL(url).host} can't be asked: ${error.cause?.code ?? error.message}`);
  }
}
