// npm run release: checks that what says a version says the same one, and makes the tag.
// `--check` only checks; `--tag vX.Y.Z` also that a tag is this version's.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './lib/paths.mjs';
import { UserError, main, must } from './lib/steps.mjs';

const read = (file) => readFileSync(path.join(ROOT, file), 'utf8');

/** What is wrong with a release of these texts, as sentences; the tag may be undefined. */
export function releaseProblems({ manifest, lock, project, changelog, tag }) {
  const version = JSON.parse(manifest).version;
  const problems = [];
  const same = (what, found) => {
    if (found !== version) problems.push(`${what} has version ${found}; package.json has ${version}.`);
  };
  same('package-lock.json', JSON.parse(lock).version);
  same('pyserver/pyproject.toml', /^version = "(.*)"$/m.exec(project)?.[1]);
  if (tag !== undefined) same('The tag', tag.replace(/^v/, ''));
  const heading = changelog.split('\n').find((line) => line.startsWith('## '));
  if (!heading?.startsWith(`## ${version}`)) {
    problems.push(`CHANGELOG.md begins with "${heading}"; "## ${version}" should be the first heading.`);
  }
  return problems;
}

if (import.meta.filename === process.argv[1]) {
  main(async () => {
    const { values } = parseArgs({ options: { check: { type: 'boolean' }, tag: { type: 'string' } } });
    const texts = {
      manifest: read('package.json'),
      lock: read('package-lock.json'),
      project: read('pyserver/pyproject.toml'),
      changelog: read('CHANGELOG.md'),
    };
    const problems = releaseProblems({ ...texts, tag: values.tag });
    if (problems.length) throw new UserError(problems.join('\n'));
    const tag = `v${JSON.parse(texts.manifest).version}`;
    if (values.check) return console.log(`${tag} is ready`);
    if ((await must(['git', 'status', '--porcelain'])).trim())
      throw new UserError('There are uncommitted changes.');
    if ((await must(['git', 'tag', '--list', tag])).trim())
      throw new UserError(`The tag ${tag} is there already.`);
    await must(['git', 'tag', '--annotate', tag, '--message', `Memlens ${tag}`]);
    console.log(`made the tag ${tag}: push it, and the release workflow does the rest`);
  });
}
