// Paths, relative to the repository's root, whatever the current folder is.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
export const WINDOWS = process.platform === 'win32';
export const VENV = path.join(ROOT, '.venv');
const VENV_BIN = path.join(VENV, WINDOWS ? 'Scripts' : 'bin');

/** A program of the virtual environment, as an absolute path. */
export const venvProgram = (name) => path.join(VENV_BIN, WINDOWS ? `${name}.exe` : name);
export const VENV_PYTHON = venvProgram('python');

/** Installed on demand and never committed: code-server, its stamps, compiled unit tests. */
export const CACHE = path.join(ROOT, '.cache');
export const CODE_SERVER = path.join(ROOT, '.vscode-test', 'code-server');
