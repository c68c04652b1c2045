// The store of a view: what its parts are told, and what is kept.

import './support/dom';
import { BareSession } from './support/session';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batch, effect, signal } from '@preact/signals';
import { follow, using } from '../../webview/src/base/follow';

test('what changes in a batch is reported at once, by name, and nothing that stays or was there before', () => {
  const [filter, order, theme] = [signal(''), signal(1), signal('dark')];
  const told: string[][] = [];
  const end = follow(
    { filter: () => filter.value, order: () => order.value, theme: () => theme.value },
    (names) => told.push([...names]),
  );
  batch(() => {
    order.value = 2;
    filter.value = 'x';
    theme.value = 'dark';
  });
  theme.value = 'light';
  end();
  filter.value = '';
  assert.deepEqual(told, [['filter', 'order'], ['theme']]);
});

test('what is read while a value is used isn’t followed', () => {
  const [shown, other] = [signal(1), signal(1)];
  const used: number[] = [];
  const end = using(
    () => shown.value,
    (value) => used.push(value * other.value),
  );
  other.value = 10;
  shown.value = 2;
  end();
  assert.deepEqual(used, [1, 20]);
});

test('a pane that isn’t there is not shown, and the same layout is no other', () => {
  const session = new BareSession();
  session.panes = ['sql'];
  let layouts = 0;
  const end = effect(() => {
    void session.layout.value;
    layouts++;
  });
  session.show('sql', { query: 'SELECT 1' });
  session.show('flame');
  assert.equal(session.pane.value, 'sql');
  assert.deepEqual(session.revealed.value, { query: 'SELECT 1' });
  session.show(null);
  assert.equal(session.pane.value, null);
  session.arrange({ panelOpen: session.layout.value.panelOpen });
  session.arrange({ panelOpen: true });
  assert.equal(layouts, 2);
  end();
});

test('what is kept follows the store until the view is left, and is saved then at the latest', () => {
  const session = new BareSession();
  session.panes = ['sql'];
  session.begin(() => undefined);
  session.show('sql');
  session.setFilter('  size>1 MiB ');
  assert.deepEqual(session.saved, []);
  session.dispose();
  const kept = session.saved.map(({ pane, filter }) => [pane, filter]);
  assert.deepEqual(kept, [['sql', 'size>1 MiB']]);
  session.setFilter('');
  session.dispose();
  assert.equal(session.saved.length, 1, 'nothing follows it any more');
});
