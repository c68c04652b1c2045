import assert from 'node:assert/strict';
import { it } from 'node:test';
import { foldersOf, mappingOf, settingOf } from '../../extension/src/source/mapping';

it('the place of one file says where the others of its root are', () => {
  assert.deepEqual(mappingOf('/srv/job/app/net.py', '/home/me/work/app/net.py'), {
    prefix: '/srv/job',
    folder: '/home/me/work',
  });
  assert.deepEqual(mappingOf('C:\\Users\\ann\\Tools\\Store.py', '/home/me/tools/store.py'), {
    prefix: 'C:\\Users\\ann',
    folder: '/home/me',
  });
  assert.deepEqual(mappingOf('src/net.py', '/home/me/src/net.py'), { prefix: '.', folder: '/home/me' });
  assert.deepEqual(mappingOf('/app/net.py', '/mnt/image/app/net.py'), { prefix: '/', folder: '/mnt/image' });
  assert.deepEqual(mappingOf('C:\\net.py', '/home/net.py'), { prefix: 'C:\\', folder: '/home' });
  assert.equal(mappingOf('/srv/job/app/net.py', '/home/me/renamed.py'), null);
});

it('a folder may stand for any that a path lies in', () => {
  assert.deepEqual(foldersOf('/srv/app/net.py'), [
    { prefix: '/srv/app', below: ['net.py'] },
    { prefix: '/srv', below: ['app', 'net.py'] },
    { prefix: '/', below: ['srv', 'app', 'net.py'] },
  ]);
  assert.deepEqual(foldersOf('C:\\app\\net.py'), [
    { prefix: 'C:\\app', below: ['net.py'] },
    { prefix: 'C:\\', below: ['app', 'net.py'] },
  ]);
  assert.deepEqual(foldersOf('net.py'), [{ prefix: '.', below: ['net.py'] }]);
});

it('a folder of the workspace is written so that it holds elsewhere', () => {
  const roots = [{ name: 'one', path: '/work/one' }];
  assert.equal(settingOf('/work/one/src/app', roots), '${workspaceFolder}/src/app');
  assert.equal(settingOf('/work/one', roots), '${workspaceFolder}');
  assert.equal(settingOf('/elsewhere', roots), '/elsewhere');
  const two = [...roots, { name: 'two', path: '/work/two' }];
  assert.equal(settingOf('/work/two/src', two), '${workspaceFolder:two}/src');
});
