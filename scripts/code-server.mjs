// node scripts/code-server.mjs: installs VS Code's server into .vscode-test/, like npm start and npm test.
import { installCodeServer } from './lib/code-server.mjs';
import { main } from './lib/steps.mjs';

main(() => installCodeServer());
