"""Programs that keep objects in different ways: ``python leaks.py KIND DUMP``."""

import asyncio
import sys
import threading

import memlens.dump


class Doc:
    def __init__(self, number: int) -> None:
        self.number = number
        self.text = "x" * 500 + str(number)


class Index:
    def __init__(self) -> None:
        self.by_number: dict[int, Doc] = {}


class Recent:
    def __init__(self) -> None:
        self.docs: list[Doc] = []


index, recent, local = Index(), Recent(), threading.local()


def two_holders(file: str) -> None:
    for number in range(5_000):
        doc = Doc(number)
        index.by_number[number] = doc
        recent.docs.append(doc)
    memlens.dump.heap(file)


def thread_locals(file: str) -> None:
    ready, done = threading.Barrier(4), threading.Event()

    def work() -> None:
        local.docs = [Doc(number) for number in range(1_500)]
        ready.wait()
        done.wait()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    ready.wait()
    memlens.dump.heap(file)
    done.set()
    for each in threads:
        each.join()


async def _job(number: int, gate: asyncio.Event) -> int:
    body = [f"row {number} {at}" for at in range(40)]
    await gate.wait()
    return len(body)


async def _jobs(file: str) -> None:
    gate = asyncio.Event()
    tasks = [asyncio.create_task(_job(number, gate)) for number in range(2_000)]
    await asyncio.sleep(0)
    memlens.dump.heap(file)
    gate.set()
    await asyncio.gather(*tasks)


def tasks(file: str) -> None:
    asyncio.run(_jobs(file))


KINDS = {
    "two holders": two_holders,
    "thread locals": thread_locals,
    "tasks": tasks,
    "nothing": memlens.dump.heap,
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](sys.argv[2])
