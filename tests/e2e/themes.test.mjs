// The view in each of VS Code's kinds of colours: drawn, and to be read. The screenshots are for people to look at.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { poorContrasts } from './contrast.mjs';
import { openVSCode } from './harness.mjs';
import { SnapshotView, distance } from './view.mjs';

let vscode;
let view;
let allocation;

before(async () => {
  vscode = await openVSCode({ viewport: { width: 1440, height: 900 } });
  view = await SnapshotView.opened(vscode, 'train.pickle');
  await view.moved(() => vscode.runCommand('Memlens: Go to the Peak'));
  allocation = await view.tallestAtTheMiddle();
  await view.moved(() => vscode.runCommand('Memlens: Fit the Whole Run'));
});
after(() => vscode?.close());

async function readable(parts) {
  const { looked, poor } = await view.frame.evaluate(poorContrasts, parts);
  assert.deepEqual(poor, []);
  assert.ok(looked > 40, `${looked} texts and icons were looked at`);
}

for (const theme of ['dark', 'light', 'hc', 'hc-light']) {
  test(`${theme}: the picture is drawn, and every text can be read`, async () => {
    await vscode.setTheme(theme);
    const background = await view.background();
    const middle = async () => {
      const rect = await view.rectOf(allocation);
      return [Math.floor(rect.x + rect.width - 6), Math.floor(rect.y + rect.height / 2)];
    };
    const { y } = await view.rectOf(allocation);
    assert.deepEqual(await view.pixel(4, y / 4), background);
    assert.ok(distance(await view.screenPixel(4, y / 4), background) <= 2);
    const band = await view.pixel(...(await middle()));
    assert.ok(distance(band, background) > 60, `${band} on ${background}`);
    await vscode.page.mouse.move(5, 5); // its cross hairs go away
    assert.ok(distance(await view.screenPixel(...(await middle())), band) <= 2);

    await view.click(allocation);
    await view.selected(allocation);
    assert.deepEqual(await view.swatch(), band);
    await view.still();
    // With the pointer on it, so that its hover is there to be read as well.
    await view.locator('.tooltip .name-line').waitFor();
    await vscode.screenshot(`selection-${theme}`);
    const parts = ['.toolbar', '.panel', '.status', '.tooltip'];
    await readable(parts);

    await vscode.runCommand('Memlens: Clear Selection');
    await vscode.runCommand('Memlens: Switch Colours between Stack and Category');
    await vscode.runCommand('Memlens: Switch between Picture and Table');
    await view.locator('table tbody tr').first().waitFor();
    await view.still();
    await vscode.screenshot(`categories-${theme}`);
    const more = ['.toolbar', '.panel', '.status', '.table'];
    await readable(more);
    await vscode.runCommand('Memlens: Switch between Picture and Table');
    await vscode.runCommand('Memlens: Switch Colours between Stack and Category');
    await view.still();
  });
}

test('nothing failed on the console', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
