// Preloaded into VS Code's server (node --require): ends it when the script that started it has ended for any reason.
// The server's children watch the server in the same way.
'use strict';
const parent = Number(process.env.MEMLENS_SERVER_PARENT);
// Children of the server may load this, too, through NODE_OPTIONS; it applies only to the direct child.
if (parent && process.ppid === parent) {
  delete process.env.MEMLENS_SERVER_PARENT;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(0);
  }, 1000).unref();
}
