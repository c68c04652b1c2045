// npm run setup: brings a checkout to where it can be started and tested, and says what it does meanwhile.
import { setup } from './lib/setup.mjs';
import { main } from './lib/steps.mjs';

main(() => setup());
