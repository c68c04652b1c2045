import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { CodeLens, ProgressOptions } from 'vscode';
import {
  ask,
  askWarning,
  CommandLink,
  input,
  MOST_SHOWN,
  openDialog,
  pick,
  pickMany,
  plain,
  plainLenses,
  saveDialog,
  showError,
  showInformation,
  showStatus,
  showWarning,
  StatusItem,
  steady,
  withProgress,
} from '../../extension/src/base/window';
import { ProgressLocation, shown } from './vscode';

/** VS Code's rules for links in notifications and for icons in labels. */
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i;
const ICON = /\$\([a-z0-9-]+(?:~[a-z]+)?\)/i;
const TURNS = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/;

const HOSTILE = [
  '[/srv/app/main.go](command:workbench.action.terminal.new "Open main.go")',
  "[a](command:a 'b')",
  '[a](command:a)',
  '[sign in](https://files.example/)',
  '[a](HTTP://files.example/)',
  '[a](file:///etc/passwd)',
  '[[a]](command:a)](command:b)',
  '[a]\n(command:b)',
  '$(shield) Trusted by VS Code',
  '$(sync~spin)',
  '\\$(alert)',
  '$$(alert)(alert)',
  'main.go\u202egnp.exe',
  '\u2066a\u2069',
  'a\0b\x1b[31mred\x07',
  '{0} {1} {project} %s \\1 \' " ; --',
  '<img src=x onerror=alert(1)>',
  `z${'\u0301'.repeat(300)}algo`,
  `[${'a'.repeat(2 * MOST_SHOWN)}](command:a)`,
];

function check(known: string[] = []): void {
  assert.ok(shown.some(({ text }) => !known.includes(text)));
  for (const { where, text } of shown) {
    if (known.includes(text)) continue;
    assert.doesNotMatch(text, LINK, where);
    assert.doesNotMatch(text, ICON, where);
    assert.doesNotMatch(text, TURNS, where);
    assert.doesNotMatch(text, /\p{M}{5}/u, where);
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(text, /[\0-\x09\x0b-\x1f\x7f]/, where);
    assert.ok(text.length <= MOST_SHOWN + HOSTILE.length, where);
  }
}

describe('texts in the windows of VS Code', () => {
  beforeEach(() => {
    shown.length = 0;
  });

  for (const name of HOSTILE)
    it(`are plain: ${JSON.stringify(name.slice(0, 60))}`, async () => {
      const options = { title: name, prompt: name, placeHolder: name };
      assert.equal(await showError(`${name} was not found`, 'Cancel', name), name);
      assert.equal(await showWarning(name, name), name);
      assert.equal(await showInformation(name), undefined);
      assert.equal(await ask(name, name, name), name);
      assert.equal(await askWarning(name, name, name), name);
      showStatus(name, 10);
      const items = [{ label: name, description: name, detail: name, value: 7 }];
      assert.equal(await pick(items, options), items[0]);
      await pickMany([], options);
      await input({ ...options, value: name });
      await saveDialog({ title: name, saveLabel: name });
      await openDialog({ title: name, openLabel: name });
      const progress = {
        location: ProgressLocation.Notification,
        title: name,
      } as unknown as ProgressOptions;
      await withProgress(progress, (reported) => {
        reported.report({ message: name, increment: 1 });
        return Promise.resolve();
      });
      const lens = { command: { title: name, command: 'memlens.showLine' } } as unknown as CodeLens;
      shown.push({ where: 'lens', text: plainLenses([lens])[0]?.command?.title ?? '' });
      assert.equal(new Set(shown.map(({ where }) => where.split('.')[0])).size, 10);
      check();
      assert.equal(plain(plain(name)), plain(name));
    });

  it('have the links and icons that Memlens itself writes, and no others', async () => {
    const item = new StatusItem('memlens.stop', 'Recording', { title: 'Stop', command: 'memlens.stop' });
    item.show('stop-circle', '$(alert) 0:07', 'of [a](command:b)', 'of [a](command:b)');
    const options = {
      location: ProgressLocation.Notification,
      title: 'Recording',
    } as unknown as ProgressOptions;
    await withProgress(options, (reported) => {
      reported.report({ message: new CommandLink('Stop] [and](command:x Open', 'memlens.stop', 'a)(b"') });
      return Promise.resolve();
    });
    const link = shown.find(({ text }) => text.includes('(command:memlens.stop'))?.text ?? '';
    const found = LINK.exec(link);
    assert.equal(found?.[0], link);
    assert.equal(found[2], 'command:memlens.stop?%5B%22a)(b%5C%22%22%5D'.replace(')(', '%29%28'));
    const icon = shown.find(({ where }) => where === 'status item.text')?.text ?? '';
    assert.match(icon, /^\$\(stop-circle\) \$\u2060\(alert\) 0:07$/);
    check([link, icon]);
  });

  it('are steady in blocks of code, and whole', () => {
    const query = `SELECT '${'x'.repeat(2 * MOST_SHOWN)}', [a](b)\n`;
    assert.equal(steady(query), query);
    assert.equal(steady('/a\u202enosj.b\u0007'), '/a\ufffdnosj.b\ufffd');
  });

  it('leave ordinary texts alone', () => {
    for (const text of ['src/a[0] (copy).py', 'f(x)[1] (y)', 'Größe: 3 MiB…', 'a $ (b)', 'two\nlines'])
      assert.equal(plain(text), text);
  });
});
