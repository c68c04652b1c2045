import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * The environment variables of Python, which must not import from the current folder: it may be untrusted. An installed
 * extension contains memlens and its libraries, which come before anything else that this Python has. In a checkout only
 * memlens itself comes first, so that a Python that is too old says so, and doesn't just lack it.
 */
export function pythonEnvironment(extensionPath: string): NodeJS.ProcessEnv {
  const own = { ...process.env, PYTHONSAFEPATH: '1', PYTHONUTF8: '1', PYTHONUNBUFFERED: '1' };
  const libraries = bundledLibraries(extensionPath);
  const memlens = path.join(extensionPath, 'pyserver');
  if (libraries === undefined) {
    const others = process.env['PYTHONPATH'];
    const hasOthers = others !== undefined && others !== '';
    return { ...own, PYTHONPATH: hasOthers ? memlens + path.delimiter + others : memlens };
  }
  // A PYTHONHOME of the user's would be that of another Python.
  return {
    ...own,
    PYTHONPATH: ownFolders(extensionPath).join(path.delimiter),
    PYTHONHOME: undefined,
    PYTHONNOUSERSITE: '1',
  };
}

/** The folders that Memlens is imported from, if not those of its Python. */
export function ownFolders(extensionPath: string): string[] {
  const libraries = bundledLibraries(extensionPath);
  const memlens = path.join(extensionPath, 'pyserver');
  return libraries === undefined ? [memlens] : [memlens, libraries];
}

/** The folder of the libraries in an installed extension; undefined in a checkout, whose Python has them. */
export function bundledLibraries(extensionPath: string): string | undefined {
  const folder = path.join(extensionPath, 'pyserver', 'libraries');
  return existsSync(folder) ? folder : undefined;
}
