import * as vscode from 'vscode';

/** How long after a task's end that of its process is waited for, which has the exit status. */
const ENDED_AFTER_MS = 500;

/** Runs a task in a terminal until it ends. Its exit status; undefined if it was ended. */
export async function runTask(task: vscode.Task): Promise<number | undefined> {
  const stops: vscode.Disposable[] = [];
  try {
    return await new Promise<number | undefined>((resolve, reject) => {
      // what ends at once may do so before it is known by its execution
      const ended = new Map<vscode.TaskExecution, number | undefined>();
      let running: vscode.TaskExecution | undefined;
      const end = (execution: vscode.TaskExecution, status: number | undefined) => {
        if (!ended.has(execution)) ended.set(execution, status);
        if (execution === running) resolve(ended.get(execution));
      };
      stops.push(
        vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
          end(execution, exitCode);
        }),
        vscode.tasks.onDidEndTask(({ execution }) => {
          // the end of its process is said about the same time
          setTimeout(end, ENDED_AFTER_MS, execution, undefined);
        }),
      );
      vscode.tasks.executeTask(task).then((execution) => {
        running = execution;
        if (ended.has(execution)) resolve(ended.get(execution));
      }, reject);
    });
  } finally {
    for (const stop of stops) stop.dispose();
  }
}
