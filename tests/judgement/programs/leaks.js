// Programs that keep objects in different ways: node leaks.js KIND SNAPSHOT
const { EventEmitter } = require('events');
const v8 = require('v8');

class Doc {
  constructor(number) {
    this.number = number;
    this.words = Array.from({ length: 40 }, (_, at) => `word ${number} ${at}`);
  }
}

class View {
  constructor(number, bus) {
    this.rows = Array.from({ length: 50 }, (_, at) => ({ at, number }));
    bus.on('change', () => this.update());
  }

  update() {}
}

class Poller {
  constructor(number) {
    this.state = new Array(300).fill(number + 0.5);
    this.timer = setInterval(() => this.poll(), 60_000 + (number % 7));
  }

  poll() {}
}

class Store {
  static #kept = new Set();

  static add(upload) {
    Store.#kept.add(upload);
  }
}

class Upload {
  constructor(number) {
    this.data = Buffer.alloc(100_000, number & 255);
  }
}

const kinds = {
  'two holders'() {
    const app = { index: new Map(), recent: [] };
    for (let number = 0; number < 4_000; number++) {
      const doc = new Doc(number);
      app.index.set(number, doc);
      app.recent.push(doc);
    }
    globalThis.app = app;
  },
  listeners() {
    const bus = new EventEmitter();
    bus.setMaxListeners(0);
    for (let number = 0; number < 3_000; number++) new View(number, bus);
    globalThis.bus = bus;
  },
  timers() {
    for (let number = 0; number < 2_000; number++) new Poller(number);
  },
  buffers() {
    for (let number = 0; number < 100; number++) Store.add(new Upload(number));
    globalThis.Store = Store;
  },
  'joined text'() {
    let log = '';
    for (let number = 0; number < 50_000; number++) log += `line ${number}\n`;
    globalThis.log = () => log;
  },
  nothing() {},
};

kinds[process.argv[2]]();
setTimeout(() => {
  v8.writeHeapSnapshot(process.argv[3]);
  process.exit();
}, 10);
