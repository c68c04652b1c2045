// npm run release: checks what a release needs, and makes the tag that the release workflow publishes.
// `--check` only checks that all files have the same version; `--tag vX.Y.Z` that they are ready for that release.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { addressIn, isPlaceholder } from './lib/address.mjs';
import { ROOT } from './lib/paths.mjs';
import { UserError, main, must } from './lib/steps.mjs';

const read = (file) => readFileSync(path.join(ROOT, file), 'utf8');

/** The problems of the files that have a version, as sentences. `released`: whether the changelog needs a date. */
function problemsOfTexts(released) {
  const { version } = JSON.parse(read('package.json'));
  const problems = [];
  const same = (what, found) => {
    if (found !== version) problems.push(`${what} has version ${found}; package.json has ${version}.`);
  };
  // The marketplace accepts no others.
  if (!/^\d+\.\d+\.\d+$/.test(version))
    problems.push(`package.json's version ${version} should be three numbers.`);
  const lock = JSON.parse(read('package-lock.json'));
  same('package-lock.json', lock.version);
  same('The first package of package-lock.json', lock.packages[''].version);
  same('pyserver/pyproject.toml', /^version = "(.*)"$/m.exec(read('pyserver/pyproject.toml'))?.[1]);

  // https://keepachangelog.com: what isn't released yet stands above the releases.
  const [, ...sections] = read('CHANGELOG.md').split(/^(?=## )/m);
  const pending = sections[0]?.startsWith('## [Unreleased]\n') && sections[0].includes('\n- ');
  const section = sections.find((each) => !each.startsWith('## [Unreleased]\n')) ?? '';
  const [heading] = section.split('\n');
  const [, of, when] = /^## \[(.+)\] - (.+)$/.exec(heading) ?? [];
  if (released && pending) {
    problems.push(
      `CHANGELOG.md has changes under "## [Unreleased]"; they belong under "## [${version}] - " and the date, YYYY-MM-DD.`,
    );
  } else if (!pending) {
    same('The newest release of CHANGELOG.md', of);
    if (!section.includes('\n- ')) problems.push(`CHANGELOG.md has nothing under "${heading}".`);
    if (released && !/^\d{4}-\d{2}-\d{2}$/.test(when ?? ''))
      problems.push(
        `CHANGELOG.md has "${heading}"; a release has "## [${version}] - " and its date, YYYY-MM-DD.`,
      );
  }
  return problems;
}

/** What is wrong with the address that packages, texts and pages name for the repository. */
function problemsOfAddress() {
  const address = addressIn(read);
  if (isPlaceholder(address)) {
    return [
      `package.json's repository ${address} is a placeholder: write the real address there, then \`npm run contract\`.`,
    ];
  }
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
  return server && name && address !== `${server}/${name}`
    ? [`package.json's repository is ${address}, and this is ${server}/${name}.`]
    : [];
}

/** The reasons why this version can't be tagged. */
async function problemsOfTags(version) {
  const problems = [];
  if ((await must(['git', 'status', '--porcelain'])).trim()) problems.push('There are uncommitted changes.');
  for (const tag of (await must(['git', 'tag', '--list', 'v*'])).split('\n').filter(Boolean)) {
    const order = compared(tag.slice(1), version);
    if (order === 0) problems.push(`The tag ${tag} is there already.`);
    if (order > 0) problems.push(`The tag ${tag} is newer than ${version}.`);
  }
  return problems;
}

/** Negative if a version is older than another, 0 if they are the same, positive if it is newer. */
function compared(a, b) {
  const [left, right] = [a, b].map((each) => each.split('.').map(Number));
  return left.map((number, i) => number - right[i]).find((difference) => difference !== 0) ?? 0;
}

main(async () => {
  const { values } = parseArgs({ options: { check: { type: 'boolean' }, tag: { type: 'string' } } });
  const checked = values.check || values.tag !== undefined;
  const released = !checked || values.tag !== undefined;
  const problems = problemsOfTexts(released);
  if (released) problems.push(...problemsOfAddress());
  const { version } = JSON.parse(read('package.json'));
  const tag = `v${version}`;
  if (values.tag !== undefined && values.tag !== tag) {
    problems.push(`The tag is ${values.tag}; that of version ${version} is ${tag}.`);
  }
  if (!checked) problems.push(...(await problemsOfTags(version)));
  if (problems.length) throw new UserError(problems.join('\n'));
  if (checked) return console.log(`${tag} is consistent`);
  await must(['git', 'tag', '--annotate', tag, '--message', `Memlens ${tag}`]);
  console.log(`made the tag ${tag}: push it, and the release workflow does the rest`);
});
