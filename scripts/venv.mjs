// node scripts/venv.mjs PROGRAM ARGUMENTS...: sets the checkout up if necessary, then runs a program of .venv.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { ROOT, venvProgram } from './lib/paths.mjs';
import { setup } from './lib/setup.mjs';
import { main } from './lib/steps.mjs';

main(async () => {
  // Set-up prints to stderr, so that stdout has only the program's output.
  await setup((text) => void process.stderr.write(text));
  const [program, ...args] = process.argv.slice(2);
  // cython-lint calls pycodestyle by name
  const PATH = `${path.dirname(venvProgram(program))}${path.delimiter}${process.env.PATH}`;
  const env = { ...process.env, PATH };
  const child = spawn(venvProgram(program), args, { cwd: ROOT, env, stdio: 'inherit' });
  process.on('SIGINT', () => {}); // the child gets the signal too, and we exit with its code
  child.on('close', (code) => (process.exitCode = code ?? 1));
});
