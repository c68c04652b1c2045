// Sessions that nobody closes.
class Session {
  constructor(user) {
    this.user = user;
    this.visited = new Array(2500).fill(user + 0.5);
  }
}

const sessions = new Map();
for (let user = 0; user < 1000; user++) sessions.set(user, new Session(user));

module.exports = sessions;
