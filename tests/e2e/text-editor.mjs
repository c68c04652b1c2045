// The text editors of a window: which file and line is active, and what hovers show.
import { TIMEOUT_MS } from './waiting.mjs';

export class TextEditors {
  /** @param {import('@playwright/test').Page} page */
  constructor(page) {
    this.page = page;
  }

  /** The name on the active tab of the active group; undefined where none is open. */
  async activeFile() {
    const selector = '.editor-group-container.active .tab.active';
    return await this.page.evaluate(
      (tab) => document.querySelector(tab)?.getAttribute('data-resource-name') ?? undefined,
      selector,
    );
  }

  /**
   * Waits until a file's tab is the active one of the active group, the cursor is on a line of it, and the editor has the
   * focus: it gets that last, and would take it again from what a test does before.
   */
  async atLine(name, line, timeoutMs = TIMEOUT_MS) {
    const until = Date.now() + timeoutMs;
    const group = this.page.locator('.editor-group-container.active');
    let seen;
    do {
      const number = group.locator('.editor-instance .line-numbers.active-line-number').first();
      const where = (await number.count()) ? Number(await number.textContent()) : undefined;
      const focused = await this.page.evaluate(
        (editor) => document.activeElement?.closest(editor) !== null,
        '.editor-group-container.active .editor-instance',
      );
      seen = `${await this.activeFile()}:${where}${focused ? '' : ' without the focus'}`;
      if (seen === `${name}:${line}`) return;
      await this.page.waitForTimeout(100);
    } while (Date.now() < until);
    throw new Error(`The cursor should be at ${name}:${line}; it is at ${seen}.`);
  }

  /**
   * The text of the hover over some text of the visible text editor.
   * @param {string} word a word, or some words of one line
   * @param {{line?: string, expecting?: RegExp}} [options] line: other text of the same line, if the word
   *   occurs more than once; expecting: waits for a matching hover, since other extensions show hovers too
   */
  async hoverText(word, { line = word, expecting = /./ } = {}) {
    const row = this.page.locator('.editor-instance .view-line', { hasText: line }).first();
    await row.waitFor();
    const hover = this.page.locator('.monaco-hover:visible');
    for (let attempt = 0; attempt < 8; attempt++) {
      await this.page.mouse.move(5, 5);
      await this.#moveTo(row, word);
      try {
        // moving the pointer cancels a hover, so a slow machine gets more time with each attempt
        await hover
          .filter({ hasText: expecting })
          .first()
          .waitFor({ timeout: 2500 * (attempt + 1) });
        return await hover.filter({ hasText: expecting }).first().innerText();
      } catch {
        // the line was scrolled or redrawn under the pointer: hover it again
      }
    }
    throw new Error(`No hover like ${expecting} came over "${word}".`);
  }

  /** Points at the middle of some text of a line, which is drawn in runs of one colour, each its own element. */
  async #moveTo(row, text) {
    const place = await row.evaluate((element, wanted) => {
      const nodes = [];
      const walker = document.createTreeWalker(element, 4 /* text nodes */);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) nodes.push(node);
      const whole = nodes.map((node) => node.data.replaceAll('\u00a0', ' ')).join('');
      const start = whole.indexOf(wanted);
      if (start < 0) return undefined;
      let middle = start + Math.floor(wanted.length / 2);
      for (const node of nodes) {
        if (middle < node.length) {
          const range = document.createRange();
          range.setStart(node, middle);
          range.setEnd(node, middle + 1);
          const { x, y, width, height } = range.getBoundingClientRect();
          return { x: x + width / 2, y: y + height / 2 };
        }
        middle -= node.length;
      }
      return undefined;
    }, text);
    if (!place) throw new Error(`"${text}" is not in the line.`);
    await this.page.mouse.move(place.x, place.y, { steps: 3 });
  }
}
