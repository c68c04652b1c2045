// A snapshot's view for the tests: what is drawn where, what the panel says, and waiting for either.
//
//   const view = await SnapshotView.opened(vscode, 'train.pickle');
//   await view.click(allocation);
//   assert.equal(await view.text('.panel h2'), '3 MiB');
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { poorContrasts } from './contrast.mjs';
import { ROOT } from './harness.mjs';
import { came, until } from './waiting.mjs';
import { settledIn } from './settled.mjs';

const AXE = readFileSync(path.join(ROOT, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

export { until };

export class SnapshotView {
  /** @param {import('@playwright/test').Frame} frame the inside of the webview */
  constructor(vscode, frame) {
    this.vscode = vscode;
    this.page = vscode.page;
    this.frame = frame;
  }

  /** Opens a file of the workspace and waits for its picture. */
  static async opened(vscode, name) {
    await vscode.openFile(name);
    return await SnapshotView.visible(vscode);
  }

  /** The view that is visible or about to appear. */
  static async visible(vscode, index = 0) {
    const view = new SnapshotView(vscode, await vscode.webview(index));
    await view.drawn();
    return view;
  }

  /** Chooses an item of the toolbar's menu by its text. */
  async more(text) {
    await this.locator('.toolbar').getByRole('button', { name: 'More' }).click();
    await this.menuItem(text).click();
  }

  /** Groups the timeline by the toolbar's list. */
  async timelineBy(text) {
    await this.locator('.toolbar').getByLabel('Group by').selectOption({ label: text });
  }

  /** An item of the open menu, by its text. */
  menuItem(text) {
    return this.locator('.menu [role^=menuitem]', {
      has: this.frame.locator('.menu-text').getByText(text, { exact: true }),
    });
  }

  /** The horizontal axis that the toolbar's menu has checked: Time or Events. */
  async axis() {
    await this.locator('.toolbar').getByRole('button', { name: 'More' }).click();
    const checked = this.locator('.menu [aria-checked=true] .menu-text', { hasText: /^Axis: / });
    const text = await checked.innerText();
    await this.page.keyboard.press('Escape');
    await this.locator('.menu').waitFor({ state: 'detached' });
    return text.slice('Axis: '.length);
  }

  /** Does what a command of the palette does, which itself takes much longer. */
  async command(command) {
    await this.frame.evaluate(
      (name) =>
        new Promise((resolve) => {
          window.addEventListener('message', function arrived({ data }) {
            if (data?.command !== name) return;
            window.removeEventListener('message', arrived);
            resolve();
          });
          window.postMessage({ type: 'command', command: name }, '*');
        }),
      command,
    );
    await this.settled();
  }

  /** Shows a pane by its tab, or by the menu beside the tabs, and waits until it is complete. */
  async pane(title) {
    await this.choosePane(title);
    await this.settled();
  }

  /** Shows a pane without waiting for it. */
  async choosePane(title) {
    const tab = this.locator('.dock').getByRole('tab', { name: title, exact: true });
    if (await tab.count()) await tab.click();
    else {
      await this.locator('.tab-more').click();
      await this.menuItem(title).click();
    }
    await this.locator('.dock [role=tab][aria-selected=true]', { hasText: title }).waitFor();
  }

  /** Filters the view, and waits until everything in it is filtered. */
  async filter(text) {
    const input = this.locator('.filter-input');
    await input.fill(text);
    await input.press('Enter');
    await this.settled();
  }

  /** The titles of all panes. */
  async panes() {
    const tabs = await this.locator('.dock [role=tab]').allInnerTexts();
    if ((await this.locator('.tab-more').count()) === 0) return tabs;
    await this.locator('.tab-more').click();
    const others = await this.locator('.menu .menu-text').allInnerTexts();
    await this.page.keyboard.press('Escape');
    return [...new Set([...tabs, ...others])];
  }

  /** Opens the settings of a row of controls, does something there, and closes them. */
  async settings(row, act) {
    const sheet = this.locator(`${row} .settings`);
    await this.locator(`${row} .settings-button`).click();
    await sheet.waitFor();
    const made = await act(sheet);
    await this.page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'hidden' });
    return made;
  }

  /** Changes the grouping of the live set or of hot spots. */
  async groupBy(...kinds) {
    await this.settings('.live-set-controls', async (sheet) => {
      for (const [level, kind] of kinds.entries())
        await sheet.locator('select').nth(level).selectOption(kind);
    });
    await this.settled();
  }

  /** Replaces the query in SQL's editor, which begins with an example, and runs it. */
  async runQuery(query) {
    const content = this.locator('.sql .cm-content');
    await content.filter({ hasNot: this.frame.locator('.cm-placeholder') }).waitFor();
    await content.fill(query);
    // closes the completions
    await content.press('Escape');
    await content.press('Control+Enter');
  }

  /** Presses a button of a flame graph's settings: "Bottom-up", "Fold recursion". */
  async flame(button, row = '.flame-toolbar') {
    await this.settings(row, (sheet) => sheet.getByRole('button', { name: button }).click());
  }

  /** Shows a flame graph in another form: icicle, flame, table, functions. */
  async flameForm(form, row = '.flame-toolbar') {
    await this.locator(`${row} select[aria-label=Layout]`).selectOption(form);
  }

  /**
   * Everything that can be pressed, chosen or typed into, except for data: links in sentences, rows of tables, names
   * in a legend and annotations in their lanes.
   */
  controls() {
    return this.frame.evaluate(() =>
      [...document.querySelectorAll('button, select, input, textarea, a[href]')]
        .filter((each) => {
          const { width, height, top, bottom } = each.getBoundingClientRect();
          if (width === 0 || height === 0 || each.closest('.headline-text, .grid, .area-legend, .lane-item'))
            return false;
          // below the visible part of a list that scrolls
          const around = each.closest('.state-scroll')?.getBoundingClientRect();
          if (around && (bottom <= around.top || top >= around.bottom)) return false;
          for (let part = each; part; part = part.parentElement) {
            const { opacity, visibility } = getComputedStyle(part);
            if (opacity === '0' || visibility === 'hidden') return false;
          }
          return true;
        })
        .map((each) => each.getAttribute('aria-label') ?? each.textContent.trim()),
    );
  }

  /** The problems that axe-core finds in the current view, a line for each element. */
  async violations() {
    return await violationsIn(this.frame);
  }

  /**
   * Asserts that axe-core finds nothing wrong with the view while each of some panes is shown, and that all text can be
   * read in the other themes, between which only contrast differs. That is computed faster than by axe-core, whose rule
   * for contrast takes most of its time.
   */
  async assertAccessible(panes) {
    assert.ok(panes.length > 0);
    const wrong = {};
    for (const pane of panes) {
      await this.pane(pane);
      await this.inThemes(async (theme) => {
        const found = theme === 'light' ? await this.violations() : (await this.contrasts(['#memlens'])).poor;
        if (found.length > 0) wrong[`${pane}, ${theme}`] = found;
      });
    }
    assert.deepEqual(wrong, {});
  }

  /** Asserts that in every theme the texts of some parts can be read, and that there are more than `atLeast`. */
  async assertLegible(parts, atLeast) {
    await this.inThemes(async (theme) => {
      const { looked, poor } = await this.contrasts(parts);
      assert.deepEqual(poor, [], theme);
      assert.ok(looked > atLeast, `${theme}: ${looked} texts and icons were looked at`);
    });
  }

  /** Does something in each theme, in which only this view is drawn. */
  async inThemes(act) {
    await this.vscode.inThemes(this.frame, act);
  }

  /** See {@link poorContrasts}. */
  async contrasts(parts) {
    return await this.frame.evaluate(poorContrasts, parts);
  }

  /**
   * Presses a key in the view once it has the focus, which VS Code returns some time after it closes a palette, and may
   * take again meanwhile: then the view doesn't get the key, and it is pressed again. A view that is drawn anew while VS
   * Code returns the focus doesn't get it: then it is asked for.
   */
  async press(key) {
    for (let attempt = 0; attempt < 10; attempt++) {
      if (!(await came(this.frame.waitForFunction(() => document.hasFocus(), null, { timeout: 10_000 })))) {
        await this.vscode.execute('workbench.action.focusActiveEditorGroup');
        continue;
      }
      const before = await this.frame.evaluate(keysSoFar);
      await this.page.keyboard.press(key);
      // a view that is gone was left by that key
      const after = await this.frame.evaluate(keysSoFar).catch(() => Infinity);
      if (after > before) return;
    }
    throw new Error(`The view never got the key ${key}.`);
  }

  /** Waits until nothing is selected, so that there are no details. */
  async cleared() {
    await this.locator('.panel').waitFor({ state: 'hidden' });
  }

  locator(selector, options) {
    return this.frame.locator(selector, options);
  }

  /** The visible text of an element. */
  async text(selector) {
    return await this.locator(selector).first().innerText();
  }

  /** Waits until a picture is visible and the camera doesn't move any more. */
  async drawn() {
    await this.locator('#memlens[data-state=ready]').waitFor();
    await this.still();
  }

  /** Waits until the camera doesn't move any more, the picture is that of its position, and nothing else is pending. */
  async still() {
    await this.settled();
  }

  /** Waits until the view has the answers to all its requests, and shows them. */
  async settled() {
    await settledIn(this.frame);
  }

  camera() {
    return this.frame.evaluate(() => window.memlensTest.camera());
  }

  /** Does something that moves the camera, and returns the camera's final position. */
  async moved(action) {
    const before = await this.camera();
    await action();
    await this.frame.waitForFunction(
      (was) => JSON.stringify(window.memlensTest.camera()) !== was,
      JSON.stringify(before),
    );
    await this.still();
    return await this.camera();
  }

  rectOf(allocation) {
    return this.frame.evaluate((number) => window.memlensTest.rectOf(number), allocation);
  }

  async bandAt(x, y) {
    const [band] = await this.bandsAt([[x, y]]);
    return band;
  }

  /** What is drawn at points, all in one request. */
  bandsAt(points) {
    return this.frame.evaluate((all) => all.map(([x, y]) => window.memlensTest.bandAt(x, y)), points);
  }

  /** The colour that the renderer drew at a point of the picture, without labels and outlines. */
  async pixel(x, y) {
    const [colour] = await this.pixels([[x, y]]);
    return colour;
  }

  /** The colours that the renderer drew at points, all in one frame. */
  async pixels(points) {
    return await this.frame.evaluate(
      (all) => all.map(([x, y]) => Array.from(window.memlensTest.pixel(x, y)).slice(0, 3)),
      points,
    );
  }

  /** The colour on the screen at a point of the picture. */
  async screenPixel(x, y) {
    const surface = await this.surface();
    return await this.vscode.screenPixel(surface.x + x, surface.y + y);
  }

  /** The position of the picture in the window. */
  surface() {
    // other pictures, which are hidden, have canvases too
    return this.locator('.plot-surface').first().boundingBox();
  }

  /** The allocation with the tallest, then the widest band of those at the middle of the view. */
  async tallestAtTheMiddle() {
    await this.settled();
    const allocation = await this.#tallestAtTheMiddle();
    assert.ok(allocation !== null, 'an allocation at the middle is high enough for its own band');
    return allocation;
  }

  /** Zooms in on bytes until allocations at the middle of the view are high enough for their own bands. */
  async unfolded() {
    const { x, y, width, height } = await this.surface();
    await this.page.mouse.move(x + width / 2, y + height * 0.9);
    while ((await this.#tallestAtTheMiddle()) === null)
      await this.moved(async () => {
        await this.page.keyboard.down('Shift');
        await this.page.mouse.wheel(0, -200);
        await this.page.keyboard.up('Shift');
      });
  }

  #tallestAtTheMiddle() {
    return this.frame.evaluate(() => {
      const { clientWidth, clientHeight } = document.querySelector('.plot-surface');
      const { bandAt, rectOf } = window.memlensTest;
      // a band may have many parts, and the largest may be elsewhere: areas move up and down with those below
      const heights = new Map();
      for (let y = 0.5; y < clientHeight; y++) {
        const allocation = bandAt(clientWidth / 2, y)?.allocation ?? null;
        if (allocation !== null) heights.set(allocation, (heights.get(allocation) ?? 0) + 1);
      }
      let best = null;
      for (const [allocation, height] of heights) {
        const rect = rectOf(allocation);
        if (!rect) continue;
        // Bands of the same size may differ by a pixel.
        const taller = best ? height - best.height : Infinity;
        if (taller > 1.5 || (taller > -1.5 && rect.width > best.width))
          best = { allocation, height, width: rect.width };
      }
      return best?.allocation ?? null;
    });
  }

  /** Clicks the middle of an allocation's band. */
  async click(allocation, { modifier } = {}) {
    const place = await this.#middleOf(allocation);
    if (modifier) await this.page.keyboard.down(modifier);
    await this.page.mouse.click(...place);
    if (modifier) await this.page.keyboard.up(modifier);
  }

  /** Moves the pointer onto an allocation's band. */
  async pointAt(allocation) {
    const [x, y] = await this.#middleOf(allocation);
    await this.page.mouse.move(x - 2, y);
    await this.page.mouse.move(x, y);
  }

  async #middleOf(allocation) {
    await this.settled();
    const rect = await this.rectOf(allocation);
    assert.ok(rect, `allocation ${allocation} is a band of the picture`);
    const surface = await this.surface();
    return [surface.x + rect.x + rect.width / 2, surface.y + Math.floor(rect.y + rect.height / 2)];
  }

  #fact(name) {
    return this.frame.locator(`xpath=//aside//dt[normalize-space()="${name}"]/following-sibling::dd[1]`);
  }

  /** Waits until the panel shows the stack of an allocation, by its number. */
  async selected(allocation) {
    await this.#fact('Number')
      .filter({ hasText: new RegExp(`^${allocation.toLocaleString('en-US')}$`) })
      .waitFor();
  }

  /** The value of a fact in the panel, by its name. */
  async fact(name) {
    const value = this.#fact(name);
    return { text: await value.innerText(), title: await value.getAttribute('title') };
  }

  /** The colours of the page and of the swatch at the top of the panel. */
  async background() {
    return await this.#colour('body');
  }

  async swatch() {
    return await this.#colour('.panel h2 .swatch');
  }

  async #colour(selector) {
    const text = await this.locator(selector)
      .first()
      .evaluate((element) => getComputedStyle(element).backgroundColor);
    return text.match(/\d+/g).slice(0, 3).map(Number);
  }
}

/** In the page: how many keys were pressed in it since it was first asked. */
function keysSoFar() {
  if (window.memlensKeys === undefined) {
    window.memlensKeys = 0;
    window.addEventListener('keydown', () => window.memlensKeys++, true);
  }
  return window.memlensKeys;
}

/** Formats an exact size as the view does: "3,145,728 bytes". */
export const exactBytes = (count) => `${count.toLocaleString('en-US')} bytes`;

/** Largest difference of two colours in any channel. */
export const distance = (a, b) => Math.max(...a.map((value, i) => Math.abs(value - b[i])));

/** Waits until a flame graph has boxes and they don't move any more. */
export async function boxesStandStill(view, boxes) {
  await until(async () => {
    await view.settled();
    return (await boxes()).length > 0;
  }, 'there are boxes');
}

/** The problems that axe-core finds in a webview in its current state, a line for each element. */
export async function violationsIn(frame) {
  // once in a page: it is half a megabyte
  if (!(await frame.evaluate(() => window.axe !== undefined))) await frame.evaluate(AXE);
  return await frame.evaluate(async () => {
    const { violations } = await window.axe.run(document, {
      resultTypes: ['violations'],
      // a webview is a part of VS Code's page, which contains the landmarks and the heading
      rules: { region: { enabled: false }, 'page-has-heading-one': { enabled: false } },
    });
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 160)}`),
    );
  });
}
