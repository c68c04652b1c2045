// npm run setup: prepares a checkout to be started and tested, and prints its progress.
import { setup } from './lib/setup.mjs';
import { main } from './lib/steps.mjs';

main(() => setup());
