// node scripts/code-server.mjs: installs VS Code's server into .vscode-test/, as npm start and npm test do.
import { installCodeServer } from './lib/code-server.mjs';
import { main } from './lib/steps.mjs';

main(() => installCodeServer());
