"""Sessions that nobody closes."""

SESSIONS = {}


class Session:
    def __init__(self, user: int) -> None:
        self.visited = bytearray(20_000 + user)  # LEAK


def work() -> None:
    for user in range(1000):
        SESSIONS[user] = Session(user)
