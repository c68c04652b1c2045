// The commands of a view are declared once, as `VIEW_COMMANDS` in extension/shared/messages.ts; this writes their rows in
// package.json, by which the palette offers each where the active view has it. `--check` only says whether they are
// current.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { ROOT } from './lib/paths.mjs';
import { UserError, main } from './lib/steps.mjs';

const MANIFEST = path.join(ROOT, 'package.json');

/** The row of a view's command. */
const rowOf = (name) => ({
  command: `memlens.${name}`,
  title: `%command.${name}%`,
  category: 'Memlens',
  enablement: `activeCustomEditorId =~ /^memlens\\.snapshot/ && memlens.commands =~ /\\s${name.replace('.', '\\.')}\\s/`,
});

/** The rows of all commands: a new one of a view follows that which is declared before it, and may get another condition. */
function withRows(rows, names) {
  const written = rows.filter(
    ({ command, enablement = '' }) =>
      !enablement.includes('memlens.commands') || names.includes(command.slice('memlens.'.length)),
  );
  names.forEach((name, index) => {
    const row = rowOf(name);
    const place = written.findIndex(({ command }) => command === row.command);
    const before = written.findIndex(({ command }) => command === `memlens.${names[index - 1]}`);
    if (place >= 0) written[place] = { ...row, ...written[place] };
    else written.splice(before < 0 ? written.length : before + 1, 0, row);
  });
  return written;
}

main(async () => {
  const { outputFiles } = await build({
    ...{ entryPoints: [path.join(ROOT, 'extension/shared/messages.ts')], bundle: true },
    ...{ format: 'esm', write: false },
  });
  const code = Buffer.from(outputFiles[0].contents).toString('base64');
  const { VIEW_COMMANDS } = await import(`data:text/javascript;base64,${code}`);
  const text = readFileSync(MANIFEST, 'utf8');
  // as text: a number of the tools' schemas is larger than those that are exact here
  const written = text.replace(/(?<=\n {4}"commands": )\[\n[\s\S]*?\n {4}\](?=,\n)/, (rows) =>
    JSON.stringify(withRows(JSON.parse(rows), VIEW_COMMANDS), null, 2).replaceAll('\n', '\n    '),
  );
  if (written === text) return;
  if (process.argv.includes('--check'))
    throw new UserError('package.json should have the rows of the view’s commands: run `npm run contract`');
  writeFileSync(MANIFEST, written);
});
