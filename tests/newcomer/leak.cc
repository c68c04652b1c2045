// Sessions that are never closed, and others that are.
#include <memory>
#include <vector>

struct Session {
  std::vector<double> visited;
  void visit() { visited.assign(2500, 1.0); }  // LEAK
};

std::vector<Session *> open_sessions;

int main() {
  for (int user = 0; user < 1000; user++) {
    std::make_unique<Session>()->visited.resize(10);
    open_sessions.push_back(new Session);
    open_sessions.back()->visit();
  }
}
