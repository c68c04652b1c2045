import { connect } from './api';
import { App } from './app';

const root = document.getElementById('memlens');
if (root) new App(connect(), root).start();
