// A run that ran out of memory: its pane has the figures of the command line and leads to the event, to the blocks and
// to their lines; the picture of reserved memory has figures that add up.

import { Page, SIZE } from './support/page';
import { RealServer } from './support/server';
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { outOfMemory, tooTight } from '../e2e/snapshots.mjs';

const FILE = 'full.pickle';
const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-oom-'));

/** What `memlens oom --json` prints of each event. */
interface Answer {
  readonly device: number;
  readonly verdict: string;
  readonly headline: string;
  readonly time_us: number;
  readonly findings: readonly {
    readonly text: string;
    readonly advice: boolean;
    readonly code: string;
    readonly frame: { readonly file: string; readonly line: number } | null;
  }[];
  readonly pinned: readonly { readonly blocks: readonly { readonly allocation: number }[] }[];
}

let server: RealServer;
let page: Page;
let answers: Answer[];

before(async () => {
  writeFileSync(path.join(folder, FILE), outOfMemory());
  server = await RealServer.start(folder);
  answers = await server.memlens(folder, 'oom', FILE);
  page = await Page.open(server, path.join(folder, FILE));
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const PICTURE = '.reserved[data-state=ready]';

async function chosen(device: number): Promise<Answer> {
  const answer = answers.find((each) => each.device === device)!;
  await page.click('.oom .oom-event', `Device ${device},`);
  assert.equal(page.text('.oom h2'), answer.headline);
  return answer;
}

test('the summary opens the pane, which agrees with the command line', async () => {
  assert.match(page.text('.headline-text'), /^Out of memory/);
  await page.pane('Out of memory');
  assert.deepEqual(
    answers.map(({ verdict }) => verdict),
    ['too_large', 'fragmented'],
  );
  for (const device of [1, 0]) {
    const { findings } = await chosen(device);
    const shown = page.texts('.oom-findings li > span:first-child');
    assert.deepEqual(
      shown.filter((text) => text.endsWith('.')),
      [...findings.filter(({ advice }) => !advice), ...findings.filter(({ advice }) => advice)].map(
        ({ text }) => text,
      ),
    );
  }
});

test('“Go to the event” switches to its device, places the cursor and shows that part of the run', async () => {
  const answer = await chosen(1);
  await page.command('fit');
  await page.click('.oom button', 'Go to the event');
  assert.match(page.text('.dock .scope'), /At/);
  const camera = window.memlensTest!.camera();
  assert.ok(camera.x0 < answer.time_us && answer.time_us < camera.x1);
  assert.match(page.one('.plot-surface').getAttribute('aria-label')!, /Device 1/);
});

test('a pinning block selects its allocation, and the line that made it opens', async () => {
  const answer = await chosen(1);
  const { allocation } = answer.pinned[0]!.blocks[0]!;
  await page.click(`.oom-block [data-allocation="${allocation}"]`);
  const number = page.one('.panel dt', 'Number').nextElementSibling?.textContent;
  assert.equal(number?.replaceAll(',', ''), String(allocation));

  const pin = answer.findings.find(({ code }) => code === 'pinning-line')!.frame!;
  const place = `${path.posix.basename(pin.file)}:${pin.line}`;
  await page.click('.oom [data-code=pinning-line] button', place);
  const { file, line } = page.last('openSource')!;
  assert.deepEqual([file, line], [pin.file, pin.line]);
});

test('reserved memory is drawn, and its figures at a moment add up', async () => {
  await page.command('picture.reserved');
  const surface = `${PICTURE} .plot-surface`;
  await page.clickAt(surface, { x: 0, y: 0, ...SIZE });
  const caption = (): string => page.text(`${PICTURE} caption`);
  assert.match(caption(), /^At /);
  const shown = () =>
    page.all(`${PICTURE} .reserved-facts tr`).map((row) => ({
      name: row.querySelector('th')!.firstChild!.textContent,
      bytes: Number(row.querySelector('td')!.title.replace(/\D/g, '')),
      part: row.className === 'part',
    }));
  const figures = shown();
  const reserved = figures.find(({ name }) => name === 'Reserved')!.bytes;
  const parts = figures.filter(({ part }) => part).reduce((sum, { bytes }) => sum + bytes, 0);
  assert.ok(reserved > 0);
  assert.equal(parts, reserved);

  await page.pointAt(surface, SIZE.width / 3, SIZE.height / 2);
  assert.match(page.text(`${PICTURE} .tooltip`), /reserved/);

  // The keys move the cursor here as well, and the figures follow.
  const before = caption();
  await page.press(surface, '.');
  assert.notEqual(caption(), before, 'the cursor has moved');

  // A filter adds what matches it.
  await page.filter('size>=1');
  const all = new Map(shown().map(({ name, bytes }) => [name, bytes]));
  assert.ok(all.get('Matches the filter'));
  assert.equal(all.get('Matches the filter'), all.get('Requested'));
  assert.match(page.text(`${PICTURE} .reserved-legend`), /Requested by what matches the filter/);
  await page.filter('');
  assert.ok(!shown().some(({ name }) => name === 'Matches the filter'));
});

test('without a line or with half of it it would have fitted, and each change can be switched on and off', async () => {
  const file = 'tight.pickle';
  writeFileSync(path.join(folder, file), tooTight());
  const tight = await Page.open(server, path.join(folder, file));
  const conclusion = (): string => tight.text('.what-if-conclusion');
  const settings = (): string[] => tight.texts('.what-if tbody th');
  await tight.pane('What if');
  assert.equal(conclusion(), 'Memory would have run out with each of these settings.');
  assert.equal(settings()[0], 'As recorded');
  const tried = settings().slice(1);
  assert.ok(tried.length > 2);

  await tight.pane('What’s in memory');
  await tight.menu(tight.one('.live-set .grid-row.group', 'model.py:22'), 'What If Without This');
  assert.equal(
    conclusion(),
    'Without these allocations it would have fitted, with 80 MiB reserved at the peak. ' +
      'Of the 100 MiB that could be reserved, 20 MiB would have been left.',
  );
  assert.deepEqual(settings(), ['As recorded', 'The recorded settings', ...tried]);

  await tight.click('.what-if-terms input');
  assert.equal(conclusion(), 'Memory would have run out with each of these settings.');
  await tight.click('.what-if-terms input');
  assert.match(conclusion(), /would have fitted/);
  // what is reserved is drawn of the row that is chosen
  const caption = (): string => tight.text('.what-if-curve figcaption');
  assert.match(caption(), /The recorded settings: at most 80 MiB reserved/);
  await tight.click('.what-if tbody th button', 'As recorded');
  assert.match(caption(), /As recorded: at most \d+ MiB reserved/);
  // 20 instead of 40 MiB, with 40 of the other line and the 40 that were asked for in vain
  await tight.choose('.what-if-terms select', 'halve');
  assert.equal(
    conclusion(),
    'With these allocations halved it would have fitted, with 100 MiB reserved at the peak. ' +
      'That is all that could be reserved.',
  );
  assert.match(
    tight.text('.what-if-curve figcaption'),
    /at most 60 MiB with the changes .*, 80 MiB as recorded/,
  );
  await tight.choose('.what-if-terms select', 'free_at_once');
  assert.match(conclusion(), /^With these allocations freed at once it would have fitted, with 80 MiB/);
  await tight.choose('.what-if-terms select', 'recompute');
  assert.match(conclusion(), /doesn't show when the backward pass/);
  await tight.choose('.what-if-terms select', 'without');
  assert.match(tight.text('.status-text'), /With the changes: .*Peak 40 MiB .*recorded peak 80 MiB/);

  // the details of an allocation have it as well
  await tight.click('.what-if-terms button[aria-label^=Remove]');
  assert.deepEqual(tight.texts('.what-if-terms li'), []);
  await tight.show(0);
  await tight.click('.panel-name button', 'What If Without This Line');
  assert.match(tight.text('.what-if-terms bdi'), /^model\.py:\d+$/);
  assert.match(conclusion(), /^Without these allocations /);
});
