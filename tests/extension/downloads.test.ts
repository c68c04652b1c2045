import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { commandOf, outermostBuilds, SourceDownloads } from '../../extension/src/source/downloads';
import { files, Uri, workspace } from './vscode';

function folders(...paths: string[]): string[] {
  const found = outermostBuilds(paths.map((path) => Uri.file(path)) as never);
  return found.map(({ folder, file, tool }) => `${tool} ${folder.fsPath} ${file}`);
}

describe('builds of a workspace', () => {
  it('are those that no other build of the tool has as a part', () => {
    assert.deepEqual(
      folders(
        '/app/core/pom.xml',
        '/app/pom.xml',
        '/app/pom.xml.bak',
        '/app/android/app/build.gradle.kts',
        '/app/android/build.gradle',
        '/app/android/settings.gradle',
        '/application/pom.xml',
        '/b/build.gradle',
      ),
      [
        'maven /app pom.xml',
        'maven /application pom.xml',
        'gradle /b build.gradle',
        'gradle /app/android settings.gradle',
      ],
    );
    assert.deepEqual(folders('/pom.xml', '/app/pom.xml'), ['maven / pom.xml']);
  });

  it('are run by their own wrappers, word by word', () => {
    const build = { folder: Uri.file('/app') as never, file: '' };
    const script = '/home/me/a b/download-sources.gradle';
    const maven = { ...build, tool: 'maven' } as const;
    const gradle = { ...build, tool: 'gradle' } as const;
    assert.deepEqual(commandOf({ ...maven, wrapper: null }, script), ['mvn', 'dependency:sources']);
    assert.deepEqual(commandOf({ ...maven, wrapper: './mvnw' }, script), ['./mvnw', 'dependency:sources']);
    const words = ['--init-script', script, '--continue', 'memlensDownloadSources'];
    assert.deepEqual(commandOf({ ...gradle, wrapper: null }, script), ['gradle', ...words]);
    assert.deepEqual(commandOf({ ...gradle, wrapper: './gradlew' }, script), ['./gradlew', ...words]);
  });
});

describe('downloading sources', () => {
  afterEach(() => {
    workspace.isTrusted = true;
    files.results = [];
    files.globs = [];
  });

  it('is never offered in a workspace that is not trusted, and not without a build', async () => {
    const log = { warn: (said: string) => void warnings.push(said) };
    const warnings: string[] = [];
    const downloads = new SourceDownloads(Uri.file('/storage') as never, {} as never, log as never);
    assert.equal(await downloads.areOffered(), false);
    files.results = [Uri.file('/app/pom.xml')];
    assert.equal(await downloads.areOffered(), true);
    // of a virtual file system there is no folder to run anything in
    files.results = [Uri.from({ scheme: 'vscode-vfs', path: '/app/pom.xml' })];
    assert.equal(await downloads.areOffered(), false);
    files.results = [Uri.file('/app/pom.xml')];
    files.globs = [];
    workspace.isTrusted = false;
    assert.equal(await downloads.areOffered(), false);
    assert.deepEqual(files.globs, [], 'nothing is even looked for');
    assert.deepEqual(warnings, []);
  });
});
