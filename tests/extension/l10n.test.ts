import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, it } from 'node:test';
import { whenOf } from '../../extension/src/commands/siblings';
import { problemOf } from '../../extension/src/server/problem';
import { responseError } from './fakes';
import { translations } from './vscode';

before(() => {
  const bundle = readFileSync(path.resolve('l10n/bundle.l10n.qps-ploc.json'), 'utf8');
  Object.assign(translations, JSON.parse(bundle) as Record<string, string>);
});

after(() => {
  for (const key of Object.keys(translations)) Reflect.deleteProperty(translations, key);
});

it('what the extension says is in the language of the editor, with its figures', () => {
  assert.match(whenOf(-7_200_000), /^\[wrîttén \[2 höûrs~+\] éårlîér~+\]$/);
  assert.match(whenOf(1000), /^\[wrîttén \[1 sécönd~+\] låtér~+\]$/);
  assert.match(problemOf(new Error('gone')).message, /^\[Thé Mémléns sérvér .* \(gone\)~+\]$/);
  assert.match(problemOf(responseError(-32800)).message, /^\[Réådîng wås cåncéll[eé]d~+\]$/);
});
