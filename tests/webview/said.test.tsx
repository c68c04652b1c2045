// What the server says of real files, in the pseudo-language: every word of it comes through the bundle. Values, which
// are the same in every language, are Greek here; tests/python/said.py holds them to be words of the file.

import { drawn } from './support/dom';
import { assertTranslated } from './support/pseudo';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { render } from 'preact';
import type { FindingsAnswer, HeadlineAnswer, Text } from '../../extension/shared/protocol.gen';
import type { Api } from '../../webview/src/api';
import { named, said } from '../../webview/src/base/l10n';
import { Headline } from '../../webview/src/shell/headline';
import { Summary } from '../../webview/src/shell/summary';
import { element } from '../../webview/src/widgets/dom';

const FILES = [
  'samples/train.pickle',
  'tests/fuzz/corpus/file/everything.pickle',
  'samples/words.pb.gz',
  'tests/fixtures/profiles/massif.out.ledger',
  'tests/fixtures/heap/sessions.hprof.zst',
];
const PYTHON = path.resolve(process.platform === 'win32' ? '.venv/Scripts/python.exe' : '.venv/bin/python');

interface Answers {
  readonly headline: HeadlineAnswer;
  readonly findings: FindingsAnswer;
}

/** An answer in which every value is Greek, and the number of templates in it. */
function inGreek(json: string): { readonly answers: Answers; readonly templates: number } {
  let templates = 0;
  // SAFETY: the server's own structs wrote it.
  const answers = JSON.parse(json, (key, value: unknown) => {
    if (typeof value === 'object' && value !== null && 'template' in value) {
      const text = value as Text;
      if (text.template === '') return { ...text, text: 'Ωμέγα' };
      templates++;
    }
    return key === 'file' || key === 'function' ? 'Ωμέγα' : value;
  }) as Answers;
  return { answers, templates };
}

const never = (): never => assert.fail();

test('no word of a headline, of findings and of warnings is left in English', async () => {
  const script = path.resolve('tests/webview/support/answers.py');
  const lines = execFileSync(PYTHON, [script, ...FILES], { encoding: 'utf8' })
    .trim()
    .split('\n');
  assert.equal(lines.length, FILES.length);
  for (const [index, line] of lines.entries()) {
    const { answers, templates } = inGreek(line);
    assert.ok(templates > 2, FILES[index]);
    const methods: Record<string, unknown> = {
      'memlens/headline': answers.headline,
      'memlens/findings': answers.findings,
    };
    const api = {
      request: (method: string) => ({ answer: Promise.resolve(methods[method]), cancel: () => undefined }),
    } as unknown as Api;
    const summary = new Summary(api, [], never);
    const host = element('div');
    document.body.append(host);
    const session = { openFrame: never, showEvidence: never, showObjects: never, copy: never };
    const next = { text: '', link: '', press: never };
    render(<Headline summary={summary} session={session} next={next} />, host);
    summary.turnTo(0);
    summary.find();
    await drawn();
    assertTranslated(host, FILES[index] ?? '');
    assert.match(host.querySelector('.headline-text')?.textContent ?? '', /^\[/);
    assert.ok(summary.text.startsWith('['));
    render(null, host);
  }
});

test('values stand where the translation has them, and braces in them are theirs', () => {
  const values = {
    line: { text: '{share}', template: '', values: {} },
    share: { text: '3%', template: '', values: {} },
  };
  assert.equal(said({ text: '', template: '{share} of {line}, {line}', values }), '3% of {share}, {share}');
  assert.equal(said({ text: '', template: '{other} of {line}', values }), '{other} of {share}');
  assert.match(named('Leaked'), /^\[Lé/);
});
