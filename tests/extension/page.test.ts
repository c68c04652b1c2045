import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { page } from '../../extension/src/editor/html';

const parts = {
  cspSource: 'https://own.example',
  scriptUri: 'https://own.example/dist/webview.js?a=1&b="2"',
  styleUri: 'https://own.example/dist/webview.css',
  nonce: 'bm9uY2U=',
  texts: {},
  language: 'en',
};
const html = page(parts);

describe('the page of a view', () => {
  it("allows only the extension's script and styles", () => {
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
    assert.ok(policy);
    const directives: Record<string, string> = Object.fromEntries(
      policy.split('; ').map((each): [string, string] => [each.split(' ')[0] ?? '', each]),
    );
    assert.equal(directives['default-src'], "default-src 'none'");
    assert.equal(directives['script-src'], "script-src 'nonce-bm9uY2U='");
    // the styles that CodeMirror makes have the nonce
    assert.equal(directives['style-src'], "style-src https://own.example 'nonce-bm9uY2U='");
    for (const kind of ['img', 'font', 'connect'])
      assert.equal(directives[`${kind}-src`], `${kind}-src 'none'`);
    assert.doesNotMatch(policy, /unsafe|\*|data:/);
  });

  it('has one script, with the nonce, and escapes URIs', () => {
    assert.equal(html.match(/<script/g)?.length, 1);
    assert.match(
      html,
      /<script type="module" nonce="bm9uY2U=" src="https:\/\/own\.example\/dist\/webview\.js\?a=1&amp;b=&quot;2&quot;">/,
    );
    assert.match(html, /<main id="memlens"><\/main>/);
  });

  it('carries its texts in the language of the editor, as data', () => {
    const translated = page({ ...parts, texts: { Peak: '"<script>' }, language: 'qps-ploc' });
    assert.match(translated, /<html lang="qps-ploc">/);
    assert.match(translated, /data-texts="{&quot;Peak&quot;:&quot;\\&quot;&lt;script&gt;&quot;}"/);
  });
});
