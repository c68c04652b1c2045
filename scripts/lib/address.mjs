// The repository's address: where it is declared, where it is repeated, and whether it is real.

/** The address that package.json declares, without `.git`. */
export const addressIn = (read) =>
  JSON.parse(read('package.json'))
    .repository.url.replace(/^git\+/, '')
    .replace(/\.git$/, '');

/** Whether an address stands for one that isn't known yet: no host has a name in `.invalid` (RFC 6761). */
export const isPlaceholder = (address) => new URL(address).hostname.endsWith('.invalid');

/** The files that repeat the address, with the texts that they should have. */
export function addressed(read) {
  const address = addressIn(read);
  const [owner] = new URL(address).pathname.slice(1).split('/');
  const replaced = (file, pattern, text) => {
    const old = read(file);
    if (!pattern.test(old)) throw new Error(`${file} has no place for the repository's address.`);
    return old.replace(pattern, text);
  };
  const urls = [
    ['Homepage', ''],
    ['Documentation', '/tree/main/docs'],
    ['Changelog', '/blob/main/CHANGELOG.md'],
    ['Issues', '/issues'],
    ['Source', ''],
  ].map(([name, place]) => `${name} = "${address}${place}"\n`);
  return {
    'package.json': replaced(
      'package.json',
      /"bugs": \{\n {4}"url": "[^"]*"\n {2}\},\n {2}"homepage": "[^"]*"/,
      `"bugs": {\n    "url": "${address}/issues"\n  },\n  "homepage": "${address}#readme"`,
    ),
    'pyserver/pyproject.toml': replaced(
      'pyserver/pyproject.toml',
      /(?<=^\[project\.urls\]\n)(.+\n)+/m,
      urls.join(''),
    ),
    'pyserver/memlens/project.py': replaced(
      'pyserver/memlens/project.py',
      /^REPOSITORY = ".*"$/m,
      `REPOSITORY = "${address}"`,
    ),
    'SECURITY.md': replaced('SECURITY.md', /https?:\/\/\S+(?=\/security\/advisories\/new)/, address),
    '.github/CODEOWNERS': replaced('.github/CODEOWNERS', /@[\w.-]+(?=\/maintainers$)/gm, `@${owner}`),
  };
}
