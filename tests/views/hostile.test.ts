// Names are text in every part of a view, whatever they contain. That nothing would run in a browser, and that VS Code's
// own hovers show them as text, is in tests/e2e/policy.test.mjs.

import { Page } from './support/page';
import { RealServer, python } from './support/server';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { HOSTILE, HOSTILE_FILE, named, namedProfile } from '../e2e/snapshots.mjs';

const FILE = 'hostile <evil-tag> [quit](x).pickle';
const PROFILE = 'hostile <evil-tag> [quit](x).pprof';
/** What tests/e2e/hostile.py makes, and a type in each. */
const DUMPS = {
  "java [quit](command:workbench.action.quit 'quit') $(alert) {project} %s.hprof": 'java.lang.Thread',
  'defined.heapsnapshot': 'quit',
};
const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-hostile-'));
const at = (name: string): string => path.join(folder, name);

let server: RealServer;
let page: Page;

before(async () => {
  writeFileSync(at(FILE), named(HOSTILE, HOSTILE_FILE));
  writeFileSync(at(PROFILE), namedProfile(HOSTILE, HOSTILE_FILE));
  await python('-m', 'tests.e2e.hostile', folder);
  server = await RealServer.start(folder);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

/** What only a name that was taken for HTML or for Markdown could have made. */
const MADE = 'evil-tag, img, script, [onerror], a[href*=quit]';
/** Control characters except line ends and tabs, and those that change the direction of text. */
const UNSEEN = /(?![\n\r\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

/** Asserts that the page has only text of the names; where `shown` is named, one of these elements shows such a name. */
function onlyText(where: string, shown?: string): void {
  if (shown !== undefined) assert.ok(page.all(shown, '<evil-tag>').length > 0, `${where}: ${shown}`);
  assert.deepEqual(
    page.all(MADE).map(({ outerHTML }) => outerHTML.slice(0, 80)),
    [],
    where,
  );
  const texts = [document.body.textContent];
  for (const each of page.all('[title], [aria-label]'))
    texts.push(each.title, each.getAttribute('aria-label') ?? '');
  assert.deepEqual(
    texts.filter((text) => UNSEEN.test(text)),
    [],
    where,
  );
}

const boxes = () => window.memlensFlame?.boxes() ?? [];
/** The values that can be chosen in a row of controls or in the toolbar. */
const choices = (select: string): string[] =>
  [...(page.one(select) as HTMLSelectElement).options].map(({ value }) => value);
const GROUP = '.live-set-controls select';

/** The titles of the panes, in tabs and in the menu beside them. */
async function allPanes(): Promise<string[]> {
  const panes = page.texts('.dock [role=tab]');
  await page.click('.tab-more');
  panes.push(...page.texts('.menu .menu-text'));
  await page.press(page.one('.menu'), 'Escape');
  return [...new Set(panes)];
}

describe('a run', () => {
  before(async () => {
    page = await Page.open(server, at(FILE));
  });

  test('in the panel of an allocation, and in the lanes of notes', async () => {
    onlyText('the first screen', '.lanes');
    await page.show(30);
    onlyText('the panel', '.panel .frame');
    await page.press(page.root, 'Escape');
  });

  test('in the legend, by whatever the picture is grouped', async () => {
    for (const by of ['function', 'category', 'file', 'line'] as const) {
      await page.command(`group.${by}`);
      onlyText(`the areas by ${by}`, '.area-legend');
    }
    await page.command('group.module');
    onlyText('the areas by module');
    await page.command('group.none');
    await page.command('toggleColour');
    onlyText('the legend of colours', '.legend');
    await page.command('group.line');
  });

  test('in every grouping of what is in memory', async () => {
    await page.pane('What’s in memory');
    const kinds = choices(GROUP);
    assert.ok(kinds.length >= 5, kinds.join());
    for (const by of kinds) {
      await page.choose(GROUP, by);
      onlyText(`the live set by ${by}`);
    }
    await page.choose(GROUP, 'line');
    onlyText('the live set by line', '.live-set .grid-row');
  });

  test('in every pane and picture', async () => {
    const places = { 'Out of memory': '#pane-oom', Leaks: '.growth-table' };
    for (const [pane, shown] of Object.entries(places)) {
      await page.pane(pane);
      onlyText(pane, shown);
    }
    await page.pane('Flame graph');
    await page.waitUntil(() => boxes().length > 1, 'the flame graph');
    await page.clickAt(
      '.flame-surface',
      boxes().find(({ node }) => node !== 0)!,
    );
    onlyText('the flame graph', '.flame-details');
    await page.pane('SQL');
    await page.runQuery('SELECT function, file, \'<evil-tag>\' AS "<evil-tag>" FROM live_at_peak');
    onlyText('the rows of SQL', '.sql-body .sql-row');
    const panes = await allPanes();
    assert.ok(panes.length >= 6, panes.join());
    for (const pane of panes) {
      await page.pane(pane);
      onlyText(`the pane ${pane}`);
    }
    const pictures = choices('.toolbar select[aria-label=View]');
    assert.ok(pictures.length >= 3, pictures.join());
    for (const picture of pictures.toReversed()) {
      await page.choose('.toolbar select[aria-label=View]', picture);
      onlyText(`the picture ${picture}`);
    }
  });
});

describe('a profile', () => {
  before(async () => {
    page = await Page.open(server, at(PROFILE));
    await page.waitUntil(() => boxes().length > 2, 'the flame graph');
  });

  test('in the details of a box, and in every form of the flame graph', async () => {
    onlyText('the first screen');
    await page.clickAt(
      '.flame-surface',
      boxes().find(({ name }) => name.startsWith('<evil-tag>'))!,
    );
    onlyText('a box', '.flame-details');
    for (const form of ['icicle', 'flame', 'table', 'functions']) {
      await page.choose('.flame-toolbar select[aria-label=Layout]', form);
      onlyText(`the flame graph as ${form}`);
    }
  });

  test('in every grouping and value, and in rows of SQL', async () => {
    for (const kind of ['line', 'function', 'file', 'stack', 'thread', 'label']) {
      await page.choose(GROUP, kind);
      onlyText(`by ${kind}`, '.live-set .grid-row');
    }
    const values = choices('.toolbar select');
    assert.equal(values.length, 3);
    for (const value of values.toReversed()) {
      await page.choose('.toolbar select', value);
      onlyText(`the value ${value}`, '.toolbar select');
    }
    await page.pane('SQL');
    await page.runQuery('SELECT * FROM labels');
    onlyText('the labels in SQL', '.sql-body .sql-row');
  });
});

describe('a heap dump', () => {
  for (const [file, type] of Object.entries(DUMPS))
    test(`in the menu of a type, in each pane, and in the details of its rows: ${file}`, async () => {
      page = await Page.open(server, at(file));
      onlyText('the first screen');
      const [row] = page.all('.dock .grid-row', type);
      assert.ok(row);
      row.dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true }));
      await page.waitUntil(() => page.all('.menu').length > 0, 'the menu of a type');
      onlyText('the menu of a type');
      await page.press(page.one('.menu'), 'Escape');
      let [rows, named] = [0, 0];
      const panes = await allPanes();
      assert.ok(panes.length >= 4, panes.join());
      for (const pane of panes) {
        await page.pane(pane);
        onlyText(`the pane ${pane}`);
        const shown = page.all('.dock [role=tabpanel]').filter((each) => !each.hidden);
        assert.equal(shown.length, 1, pane);
        if (shown[0]!.textContent.includes('<evil-tag>')) named++;
        const row = [...shown[0]!.querySelectorAll<HTMLElement>('.grid-row')].at(3);
        if (!row) continue;
        rows++;
        await page.click(row);
        onlyText(`the details of a row of ${pane}`);
      }
      assert.ok(rows >= 2 && named > 0, `${rows} panes have rows, and ${named} such a name`);
    });
});
