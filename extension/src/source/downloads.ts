// The sources of a project's libraries, which Maven or Gradle downloads to its own cache when the user asks for them.

import path from 'node:path';
import * as vscode from 'vscode';
import { type Logger, messageOf } from '../base/logger';
import { runTask } from '../base/tasks';
import { pick, showInformation } from '../base/window';
import type { Server } from '../server/client';
import { showProblem } from '../server/problem';

/** Files of the workspace that are looked at, and the folders of builds that are offered. */
const MOST_FILES = 200;
const MOST_BUILDS = 20;
const BUILD_FILES = /^(?:pom\.xml|(?:settings|build)\.gradle(?:\.kts)?)$/;
const INIT_SCRIPT = 'download-sources.gradle';
const GRADLE_TASK = 'memlensDownloadSources';

/**
 * Adds a task to each project of a build that asks Gradle for the sources of all libraries which it resolves: they are
 * then in Gradle's cache, where Memlens looks. It changes nothing of the build. Written for Gradle 4 and later.
 */
const INIT_TEXT = `// Written by Memlens for "Download Sources…".
import org.gradle.api.artifacts.component.ModuleComponentIdentifier
import org.gradle.jvm.JvmLibrary
import org.gradle.language.base.artifact.SourcesArtifact

allprojects { project ->
    def added = project.tasks.create('${GRADLE_TASK}')
    if (added.respondsTo('notCompatibleWithConfigurationCache', String)) {
        added.notCompatibleWithConfigurationCache('it resolves what other tasks declare')
    }
    added.doLast {
        def libraries = [] as Set
        project.configurations.findAll { it.canBeResolved }.each { configuration ->
            try {
                libraries.addAll(configuration.incoming.resolutionResult.allComponents*.id.findAll {
                    it instanceof ModuleComponentIdentifier
                })
            } catch (Exception error) {
                println "\${configuration.name} can't be resolved: \${error.message}"
            }
        }
        def answer = project.dependencies.createArtifactResolutionQuery()
            .forComponents(libraries).withArtifacts(JvmLibrary, SourcesArtifact).execute()
        def found = answer.resolvedComponents.count { component ->
            component.getArtifacts(SourcesArtifact).any { it.hasProperty('file') && it.file != null }
        }
        println "\${project.path}: sources of \${found} of \${libraries.size()} libraries"
    }
}
`;

/** A build of the workspace, by the file that it begins with. */
export interface Build {
  readonly folder: vscode.Uri;
  readonly file: string;
  readonly tool: 'maven' | 'gradle';
  /** The script in the folder that runs the tool in the version that the project wants; null without one. */
  readonly wrapper: string | null;
}

/** Lets Maven or Gradle download the sources of libraries, in a terminal. Never in a workspace that isn't trusted. */
export class SourceDownloads {
  constructor(
    private readonly storage: vscode.Uri,
    private readonly server: Pick<Server, 'request'>,
    private readonly log: Logger,
  ) {}

  /** Whether there is anything that could be asked for the sources. */
  async areOffered(): Promise<boolean> {
    return (await this.#builds()).length > 0;
  }

  /** Lets the user choose a build, and runs it. Whether it was run and ended well. */
  async run(): Promise<boolean> {
    const builds = await this.#builds();
    if (builds.length === 0) {
      void showInformation(
        vscode.workspace.isTrusted
          ? vscode.l10n.t(
              'The workspace has no build of Maven or Gradle: no pom.xml, build.gradle or settings.gradle.',
            )
          : vscode.l10n.t('Build tools run code of the workspace, which isn’t trusted.'),
      );
      return false;
    }
    const script = vscode.Uri.joinPath(this.storage, INIT_SCRIPT);
    const chosen = await pick(
      builds.map((build) => ({
        label: commandOf(build, script.fsPath).join(' '),
        description: vscode.workspace.asRelativePath(vscode.Uri.joinPath(build.folder, build.file)),
        build,
      })),
      {
        title: vscode.l10n.t('Download the Sources of Libraries'),
        placeHolder: vscode.l10n.t(
          'Runs in a terminal. The build tool keeps what it downloads in its own cache.',
        ),
        matchOnDescription: true,
      },
    );
    // trust can't be withdrawn, but the choice may be made long after the list
    if (chosen === undefined || !vscode.workspace.isTrusted) return false;
    if (chosen.build.tool === 'gradle') {
      await vscode.workspace.fs.createDirectory(this.storage);
      // oxlint-disable-next-line memlens/writes-by-save -- in the extension's own folder
      await vscode.workspace.fs.writeFile(script, new TextEncoder().encode(INIT_TEXT));
    }
    const status = await inTerminal(chosen.build, commandOf(chosen.build, script.fsPath));
    // what was downloaded before an error is there as well
    await this.server.request('memlens/librariesChanged', {});
    return status === 0;
  }

  async #builds(): Promise<Build[]> {
    if (!vscode.workspace.isTrusted) return [];
    try {
      const found = await vscode.workspace.findFiles(
        '**/{pom.xml,build.gradle,build.gradle.kts,settings.gradle,settings.gradle.kts}',
        '**/{node_modules,target,build,out,bin,.gradle,.git}/**',
        MOST_FILES,
      );
      const outermost = outermostBuilds(found.filter(({ scheme }) => scheme === 'file'));
      return await Promise.all(outermost.slice(0, MOST_BUILDS).map(withWrapper));
    } catch (error) {
      this.log.warn(`the workspace's builds can't be listed: ${messageOf(error)}`);
      return [];
    }
  }
}

/** "Download Sources…", also for the libraries whose classes an extension decompiles. */
export function registerDownloadCommand(downloads: SourceDownloads): vscode.Disposable {
  return vscode.commands.registerCommand('memlens.downloadSources', async () => {
    try {
      await downloads.run();
    } catch (error) {
      showProblem(error);
    }
  });
}

/** The builds that are in no other one of their tool, those of the folders further up first. */
export function outermostBuilds(files: readonly vscode.Uri[]): Omit<Build, 'wrapper'>[] {
  const named = files
    .map((uri) => ({ folder: path.posix.dirname(uri.path), file: path.posix.basename(uri.path), uri }))
    .filter(({ file }) => BUILD_FILES.test(file))
    // of one folder the settings first, which say what else belongs to the build
    .sort(
      (a, b) =>
        a.folder.split('/').length - b.folder.split('/').length ||
        a.folder.localeCompare(b.folder) ||
        b.file.localeCompare(a.file),
    );
  const found: (Omit<Build, 'wrapper'> & { readonly path: string })[] = [];
  for (const { folder, file, uri } of named) {
    const tool = file === 'pom.xml' ? 'maven' : 'gradle';
    const isWithin = ({ path: other, tool: of }: (typeof found)[number]) =>
      of === tool && `${folder}/`.startsWith(`${other === '/' ? '' : other}/`);
    if (!found.some(isWithin))
      found.push({ folder: vscode.Uri.file(path.dirname(uri.fsPath)), file, tool, path: folder });
  }
  return found.map(({ folder, file, tool }) => ({ folder, file, tool }));
}

/** What is run for a build, a word each. */
export function commandOf({ tool, wrapper }: Build, initScript: string): [string, ...string[]] {
  const program = wrapper ?? (tool === 'maven' ? 'mvn' : 'gradle');
  return tool === 'maven'
    ? [program, 'dependency:sources']
    : [program, '--init-script', initScript, '--continue', GRADLE_TASK];
}

async function withWrapper(build: Omit<Build, 'wrapper'>): Promise<Build> {
  const names = { maven: ['mvnw', 'mvnw.cmd'], gradle: ['gradlew', 'gradlew.bat'] }[build.tool];
  const name = names[process.platform === 'win32' ? 1 : 0] ?? '';
  try {
    await vscode.workspace.fs.stat(vscode.Uri.joinPath(build.folder, name));
  } catch {
    return { ...build, wrapper: null };
  }
  return { ...build, wrapper: process.platform === 'win32' ? `.\\${name}` : `./${name}` };
}

/** Runs a command where the user sees it, in the folder of a build. Its exit status; undefined if it was ended. */
async function inTerminal(
  { folder }: Build,
  [program, ...words]: [string, ...string[]],
): Promise<number | undefined> {
  // the shell's own quoting
  const args = words.map((value) => ({ value, quoting: vscode.ShellQuoting.Strong }));
  const task = new vscode.Task(
    { type: 'memlens.downloadSources' },
    vscode.TaskScope.Workspace,
    vscode.l10n.t('Download Sources'),
    'Memlens',
    new vscode.ShellExecution(program, args, { cwd: folder.fsPath }),
  );
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: false, clear: false };
  return await runTask(task);
}
