// The repository's address is declared once, as `repository` in package.json; this writes it wherever else it is needed.
// `--check` only says whether these places are current.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { addressIn, addressed } from './lib/address.mjs';
import { ROOT } from './lib/paths.mjs';
import { UserError, main } from './lib/steps.mjs';

main(async () => {
  const read = (file) => readFileSync(path.join(ROOT, file), 'utf8');
  const stale = Object.entries(addressed(read)).filter(([file, text]) => text !== read(file));
  if (!process.argv.includes('--check')) {
    for (const [file, text] of stale) writeFileSync(path.join(ROOT, file), text);
  } else if (stale.length) {
    throw new UserError(
      `${stale.map(([file]) => file).join(', ')} should have the address ${addressIn(read)}: run \`npm run contract\``,
    );
  }
});
