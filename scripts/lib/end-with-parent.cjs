// Preloaded into VS Code's server (node --require): it ends when the script that started it is gone, however
// that ended. The server's own children watch the server in the same way.
'use strict';
const parent = Number(process.env.MEMLENS_SERVER_PARENT);
// Children of the server load this too where NODE_OPTIONS reach them; only the direct child is meant.
if (parent && process.ppid === parent) {
  delete process.env.MEMLENS_SERVER_PARENT;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(0);
  }, 1000).unref();
}
