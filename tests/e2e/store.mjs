// An S3 server on the loopback interface (moto's), and the packages of `memlens[fleet]` that read from it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { CACHE, VENV_PYTHON } from '../../scripts/lib/paths.mjs';

const PACKAGES = path.join(CACHE, 'fleet');
const HEADERS = {
  authorization: 'AWS4-HMAC-SHA256 Credential=tester/20260101/us-east-1/s3/aws4_request',
  'content-type': 'application/octet-stream',
};

/** Whether the packages are installed, which needs a network. */
export const hasFleet = existsSync(path.join(PACKAGES, 'distributed'));

/** What VS Code's environment needs so that the Python of Memlens has them; `folder` gets the stores' configuration. */
export function fleetEnvironment(folder) {
  const paths = [PACKAGES, process.env.PYTHONPATH].filter(Boolean);
  return hasFleet ? { PYTHONPATH: paths.join(path.delimiter), FSSPEC_CONFIG_DIR: folder } : {};
}

/** A bucket "snapshots" in a store that fsspec finds by its configuration in a folder. */
export class Store {
  #url;
  #process;

  static async start(configuration) {
    const store = new Store();
    const port = await freePort();
    store.#url = `http://127.0.0.1:${port}`;
    const main = 'from moto.server import main; main()';
    store.#process = spawn(VENV_PYTHON, ['-c', main, '-H', '127.0.0.1', '-p', String(port)], {
      env: { ...process.env, PYTHONPATH: PACKAGES },
      stdio: 'ignore',
    });
    const s3 = {
      endpoint_url: store.#url,
      key: 'tester',
      secret: 'tester',
      client_kwargs: { region_name: 'us-east-1' },
    };
    mkdirSync(configuration, { recursive: true });
    writeFileSync(path.join(configuration, 'store.json'), JSON.stringify({ s3 }));
    const until = Date.now() + 60_000;
    while (
      !(await store.put('', new Uint8Array()).then(
        () => true,
        () => false,
      ))
    ) {
      if (Date.now() > until) throw new Error("moto's server doesn't start");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return store;
  }

  /** Puts a file into the bucket; without a key creates the bucket. */
  async put(key, body) {
    const answer = await fetch(`${this.#url}/snapshots${key && `/${key}`}`, {
      method: 'PUT',
      headers: HEADERS,
      body,
    });
    if (!answer.ok) throw new Error(`the store says ${answer.status}`);
  }

  /** Stops answering until the returned function is called. */
  pause() {
    this.#process.kill('SIGSTOP');
    return () => this.#process.kill('SIGCONT');
  }

  async close() {
    this.#process.kill('SIGKILL');
    await once(this.#process, 'close');
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
