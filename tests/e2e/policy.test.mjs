// What the page may not do, whatever a snapshot's names bring into it: run scripts of others, or reach the network.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openVSCode } from './harness.mjs';
import { SnapshotView } from './view.mjs';

let vscode;
let view;

before(async () => {
  vscode = await openVSCode();
  view = await SnapshotView.opened(vscode, 'train.pickle');
});
after(() => vscode?.close());

test('scripts, styles, images, frames and connections from elsewhere are refused', async () => {
  const failures = [];
  vscode.page.on('requestfailed', (request) => {
    if (request.url().includes('elsewhere.invalid')) failures.push(request.failure()?.errorText);
  });
  const refused = await view.frame.evaluate(async () => {
    const seen = [];
    document.addEventListener('securitypolicyviolation', (event) => seen.push(event.effectiveDirective));
    const put = (tag, properties) => {
      const made = Object.assign(document.createElement(tag), properties);
      document.body.append(made);
      return made;
    };
    const elsewhere = 'https://elsewhere.invalid/';
    const added = [
      put('script', { textContent: 'window.ran = 1' }),
      put('script', { src: `${elsewhere}a.js` }),
      put('img', { src: `${elsewhere}a.png` }),
      put('iframe', { src: elsewhere }),
      put('object', { data: elsewhere }),
    ];
    const span = put('span', {});
    // As if a name had been taken for HTML.
    span.innerHTML = '<b onclick="window.ran = 2">x</b><svg onload="window.ran = 3"></svg>';
    span.firstElementChild.click();
    const tried = [];
    const attempt = async (name, run) => {
      try {
        await run();
        tried.push(name);
      } catch {
        // refused
      }
    };
    // A debugger's own evaluation may do more than the page: so in a task of the page's own.
    await new Promise((resolve) => setTimeout(resolve));
    await attempt('eval', () => (0, eval)('window.ran = 4'));
    await attempt('Function', () => new Function('window.ran = 5')());
    await attempt('fetch', () => fetch(elsewhere));
    await attempt('import', () => import(`${elsewhere}m.js`));
    await attempt('beacon', () => {
      if (!window.navigator.sendBeacon(elsewhere)) throw new Error('refused');
    });
    await attempt(
      'worker',
      () => new window.Worker(URL.createObjectURL(new window.Blob(['postMessage(1)']))),
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (const element of [...added, span]) element.remove();
    return { seen: [...new Set(seen)], tried, ran: window.ran ?? null };
  });
  assert.equal(refused.ran, null, 'nothing ran');
  const policy = [
    'script-src-elem',
    'script-src-attr',
    'script-src',
    'img-src',
    'frame-src',
    'connect-src',
    'object-src',
  ];
  for (const directive of policy)
    assert.ok(refused.seen.includes(directive), `${directive}: ${refused.seen}`);
  // By the policy, before they could leave: there is no such host either.
  assert.deepEqual([...new Set(failures)], ['csp']);
  // A beacon or a worker may be refused without an exception; the policy's report is what counts.
  assert.deepEqual(
    refused.tried.filter((name) => !['beacon', 'worker'].includes(name)),
    [],
  );
});
