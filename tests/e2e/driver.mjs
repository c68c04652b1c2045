// Asks the driver in a window's extension host (extensions/driver), which is there for what a person would do by many
// keys, and no test is about.
import { createHash } from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import { TIMEOUT_MS, until } from './waiting.mjs';

export class Driver {
  #socket;
  /** The process of the extension host. */
  pid;

  /**
   * @param {string} sockets the folder of all drivers' sockets
   * @param {string} root the workspace's folder
   */
  constructor(sockets, root) {
    this.#socket = path.join(sockets, createHash('sha256').update(root).digest('hex').slice(0, 16));
  }

  /** Waits for the driver of a new extension host. */
  async started() {
    const former = this.pid;
    this.pid = await until(async () => {
      const pid = await this.ask('pid').catch(() => undefined);
      return pid !== former && pid;
    }, 'the window has an extension host');
  }

  /** What the driver answers; its acts are in driver.cjs. */
  ask(act, ...args) {
    return new Promise((resolve, reject) => {
      const options = { socketPath: this.#socket, method: 'POST', agent: false, timeout: TIMEOUT_MS };
      const request = http.request(options, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk) => (body += chunk));
        response.on('error', reject).on('end', () => {
          const { ok, error } = JSON.parse(body);
          if (error === undefined) resolve(ok);
          else reject(new Error(`${act}: ${error}`));
        });
      });
      request.on('timeout', () => request.destroy(new Error(`${act}: the extension host doesn't answer`)));
      request.on('error', reject);
      request.end(JSON.stringify([act, ...args]));
    });
  }
}
