// Runs all commands of a host in one process, because starting one takes longer than most commands.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ROOT, VENV_PYTHON } from '../../scripts/lib/paths.mjs';

export class CommandLine {
  #child;
  #answers = [];
  #ended;

  /** The output of `memlens ARGUMENTS` in a folder. Commands are run one after another. */
  async run(args, cwd) {
    this.#child ??= this.#start();
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => name.startsWith('MEMLENS_')),
    );
    const answer = new Promise((resolve, reject) => this.#answers.push({ resolve, reject }));
    this.#child.stdin.write(`${JSON.stringify({ arguments: args, cwd, env })}\n`);
    const { returncode, stdout, stderr } = await answer;
    if (returncode !== 0) throw new Error(`memlens ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async stop() {
    this.#child?.stdin.end();
    await this.#ended;
  }

  #start() {
    const child = spawn(VENV_PYTHON, ['-m', 'tests.python.command_line'], {
      cwd: ROOT,
      env: { ...process.env, PYTHONPATH: ROOT },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface({ input: child.stdout }).on('line', (line) =>
      this.#answers.shift().resolve(JSON.parse(line)),
    );
    this.#ended = once(child, 'close').then(([code]) => {
      for (const { reject } of this.#answers) reject(new Error(`The command line ended with ${code}.`));
    });
    return child;
  }
}
