// The widget at the top of a window: its commands, quick open, links, and the dialog for files.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { commandsIn } from './settled.mjs';
import { TIMEOUT_MS, came, until } from './waiting.mjs';

const PREFIX = 'Memlens: ';
const LISTS = ['show', 'groupBy', 'navigate', 'share'];
const ROWS = '.quick-input-list .monaco-list-row';

/** The palette's lists that offer the commands of the active view, by the titles of these. */
const LIST_OF = listsOfCommands();

export class Palette {
  /** @param {import('@playwright/test').Page} page */
  constructor(page) {
    this.page = page;
  }

  /** Opens the palette and enters some text: a command after a `>`, otherwise a file. */
  async enter(text) {
    const input = this.page.locator('.quick-input-widget .quick-input-box input');
    // A webview that is redrawn at this moment may swallow the key, or take the focus and thereby close the palette.
    for (let attempt = 0; ; attempt++) {
      await this.page.keyboard.press('F1');
      if (await came(input.fill(text, { timeout: 3000 }))) return;
      if (attempt === 10) throw new Error('The palette did not appear.');
    }
  }

  /**
   * Runs a command by its title, as a person would: `run('Memlens: Go to the Peak')`. `meanwhile` is done once the
   * command can be chosen, and may keep it from the view for a while.
   */
  async run(title, meanwhile) {
    const list = LIST_OF.get(title);
    await this.select(list ?? title);
    const commands = await commandsIn(this.page);
    if (list === undefined) await meanwhile?.();
    await this.accept(list ?? title);
    if (list === undefined) return;
    const row = this.#row(title.slice(PREFIX.length)).first();
    // A view that takes the focus late, on a busy machine, closes the list, which a person opens once more.
    for (let attempt = 0; !(await this.#picked(row, attempt ? undefined : meanwhile)); attempt++) {
      if (attempt === 10) throw new Error(`The list "${list}" didn't stay open.`);
      await this.page.keyboard.press('Escape');
      await this.select(list);
      await this.accept(list);
    }
    if (!meanwhile && title !== 'Memlens: Save Without Values…') await this.#arrived(title, commands);
  }

  /** Picks a row of a list that has just been asked for; false if the list has closed or lost the keys. */
  async #picked(row, meanwhile) {
    if (!(await came(row.waitFor({ timeout: 5000 })))) return false;
    await meanwhile?.();
    const hasKeys = await this.page.evaluate(
      () => document.activeElement?.closest('.quick-input-widget') !== null,
    );
    if (!hasKeys) return false;
    return await this.pick(row, 30).then(
      () => true,
      () => false,
    );
  }

  /** The titles that a list of the palette offers: `listed('Memlens: Show…')`. */
  async listed(list) {
    for (let attempt = 0; ; attempt++) {
      await this.select(list);
      await this.accept(list);
      // A view that takes the focus late closes it.
      const isOpen = await came(this.page.locator(ROWS).first().waitFor({ timeout: 5000 }));
      const titles = await this.page.locator('.quick-input-list .label-name').allInnerTexts();
      if (isOpen && titles.length > 0) {
        await this.#close();
        return titles;
      }
      if (attempt === 10) throw new Error(`The list "${list}" didn't stay open.`);
    }
  }

  /** The row of a command. */
  #row(title) {
    return this.page.locator(ROWS, {
      has: this.page.locator('.label-name').getByText(title, { exact: true }),
    });
  }

  /** Opens the palette and moves to a command. */
  async select(title) {
    // A longer title with the same words may be listed above it.
    const row = this.#row(title);
    const listed = () => came(row.first().waitFor({ timeout: 5000 }));
    // An open palette doesn't notice that a command was enabled again, for example after a file was read again.
    for (let attempt = 0; ; attempt++) {
      await this.enter(`>${title}`);
      if (await listed()) break;
      if (attempt === 10) throw new Error(`The palette doesn't have "${title}".`);
      await this.page.keyboard.press('Escape');
    }
    for (let rows = 0; !(await row.and(this.page.locator('.focused')).count()); rows++) {
      if (rows === 50) throw new Error(`The palette has no way to "${title}".`);
      await this.page.keyboard.press('ArrowDown');
    }
  }

  /** Runs the command that is selected, by its title. */
  async accept(title) {
    // Meanwhile an editor that is still opening may have taken the focus, which closes the palette.
    while (!(await this.enterKey())) await this.select(title);
    // The command itself may use the same widget, as VS Code's dialogs for files do.
    await this.page.waitForFunction(
      () =>
        !document
          .querySelector('.quick-input-widget:not([style*="display: none"]) input')
          ?.value.startsWith('>'),
    );
  }

  /**
   * Presses Enter in the widget's box, if that has the focus; false if not. In one step: a key of the keyboard goes to
   * whatever has the focus once it arrives, so that an editor which has just opened would get it, and the command would
   * never be run.
   */
  async enterKey() {
    return await this.page.evaluate(() => {
      const focused = document.activeElement;
      if (!focused?.closest('.quick-input-widget')) return false;
      const key = { key: 'Enter', code: 'Enter', keyCode: 13, which: 13 };
      for (const type of ['keydown', 'keyup'])
        focused.dispatchEvent(
          new window.KeyboardEvent(type, { ...key, bubbles: true, cancelable: true, composed: true }),
        );
      return true;
    });
  }

  /** Waits until a view has received a command; `before` has those that each had already received. */
  async #arrived(title, before) {
    const until = Date.now() + TIMEOUT_MS;
    for (;;) {
      const now = await commandsIn(this.page);
      if ([...now].some(([frame, count]) => count > (before.get(frame) ?? 0))) return;
      if (Date.now() > until) throw new Error(`No view got "${title}".`);
      await this.page.waitForTimeout(20);
    }
  }

  /** The titles that the palette offers for some words. */
  async offered(words) {
    for (let attempt = 0; ; attempt++) {
      if (attempt === 10) throw new Error(`The palette didn't stay open for "${words}".`);
      await this.enter(`>${words}`);
      // An editor that is still opening may take the focus, which closes the palette.
      if (!(await came(this.page.locator(ROWS).first().waitFor({ timeout: 5000 })))) continue;
      const titles = await this.page.locator('.quick-input-list .label-name').allInnerTexts();
      const isOpen = await this.page.locator('.quick-input-widget').isVisible();
      await this.#close();
      if (isOpen && titles.length > 0) return titles;
    }
  }

  /** Picks a row of a list by the keyboard: the list moves under the mouse while it opens. */
  async pick(row, most = 100) {
    await row.waitFor();
    const focused = row.and(this.page.locator('.focused'));
    for (let presses = 0; !(await came(focused.waitFor({ timeout: presses ? 200 : 50 }))); presses++) {
      if (presses === most) throw new Error(`The list didn't get to "${await row.innerText()}".`);
      await this.page.keyboard.press('ArrowDown');
    }
    const picked = await row.evaluate(({ id, ariaLabel }) => [id, ariaLabel]);
    if (!(await this.enterKey())) throw new Error('The list has lost the focus.');
    // another list may come at once, as that of the dialog for files, and its rows use the elements of these again
    await this.page.waitForFunction(([id, label]) => {
      const now = document.getElementById(id);
      return !now || now.ariaLabel !== label || now.offsetParent === null;
    }, picked);
  }

  async #close() {
    await this.page.keyboard.press('Escape');
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }

  /** Opens a link to the extension as the system would, which VS Code asks about. */
  async openLink(link) {
    const title = 'Developer: Open URL';
    await this.select(title);
    await this.accept(title);
    const input = this.page.locator('.quick-input-widget input[type=text]');
    await this.page.locator('.quick-input-widget .quick-input-list').waitFor({ state: 'hidden' });
    await input.fill(link);
    await this.page.keyboard.press('Enter');
    await this.page.locator('.monaco-dialog-box').getByRole('button', { name: 'Open' }).click();
  }

  /**
   * Accepts a path in VS Code's dialog for files, once that offers one.
   * @param {RegExp} offered what the dialog offers first
   * @param {string} [file] the path to enter instead of it
   * @param {RegExp} [next] what a second dialog offers that opens at once, so that none is seen to close
   */
  async choosePath(offered, file, next) {
    const widget = this.page.locator('.quick-input-widget');
    const input = widget.locator('.quick-input-box input');
    const entered = (otherwise = '') => input.inputValue({ timeout: 2000 }).catch(() => otherwise);
    let seen;
    const isReady = async () => offered.test((seen = await entered()));
    await until(isReady, `the dialog offers ${offered}`).catch(({ message }) => {
      throw new Error(`${message} It has "${seen}".`);
    });
    const closed = async () => {
      if (next === undefined) return await came(widget.waitFor({ state: 'hidden', timeout: 2000 }));
      return (
        next.test(await entered()) ||
        came(this.page.waitForFunction(isOffered, next.source, { timeout: 2000 }))
      );
    };
    // While it lists a folder, the dialog ignores the key and may insert that folder before the entered text.
    for (let attempt = 0; ; attempt++) {
      if (attempt > 10) throw new Error(`The dialog never accepted ${file ?? offered}.`);
      if (file) {
        await input.fill(file, { timeout: 2000 }).catch(() => undefined);
        await this.page.waitForTimeout(200);
        if (!(await entered(file)).startsWith(file)) continue;
      }
      await input.press('Enter', { timeout: 2000 }).catch(() => undefined);
      if (await closed()) return;
    }
  }
}

/** In the page: whether the dialog offers a path. */
function isOffered(source) {
  const { value } = document.querySelector('.quick-input-widget .quick-input-box input') ?? { value: '' };
  return new RegExp(source).test(value);
}

function listsOfCommands() {
  const read = (name) => readFileSync(path.join(ROOT, name), 'utf8');
  const texts = JSON.parse(read('package.nls.json'));
  const lists = new Map(LISTS.map((list) => [list, `${PREFIX}${texts[`command.${list}`]}`]));
  const rows = read('extension/shared/commands.gen.ts').matchAll(/^ {2}'([\w.]+)': '(\w+)',$/gm);
  const declared = new Map([...rows].map(([, name, list]) => [name, list]));
  declared.set('redact', 'share');
  const found = JSON.parse(read('package.json')).contributes.commands.flatMap(({ command }) => {
    const name = command.slice('memlens.'.length);
    const list = declared.get(name);
    return list ? [[`${PREFIX}${texts[`command.${name}`]}`, lists.get(list)]] : [];
  });
  return new Map(found);
}
