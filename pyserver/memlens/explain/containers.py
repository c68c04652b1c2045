"""What says that a container's process was killed: Kubernetes, Docker, Slurm, and an exit status of 137.

Sources: ``kubectl describe`` and the pod's status in Kubernetes's API (``ContainerStateTerminated``,
``pkg/kubelet/eviction``), ``docker inspect``, Slurm's ``slurmstepd``.
"""

import re

from memlens.explain.answers import Amount, Explanation, NotMemory
from memlens.explain.text import Log, amount_of
from memlens.texts import Text, phrase, plural
from memlens.units import plain_name

_MOST_BEFORE, _MOST_AFTER = 60, 400
_SIGKILL = 137

_DESCRIBED = re.compile(r"( *)Reason: +OOMKilled\s*")
_AS_DATA = re.compile(r'([ "]*)"?reason"?: *"?OOMKilled"?,?\s*')
_IN_TABLE = re.compile(r"(\S{1,253}) +\d+/\d+ +OOMKilled\b")
_EXIT_CODE = re.compile(r'"?[eE]xit ?[cC]ode"?: *(\d{1,3})\b')
_NAMED = re.compile(r'"?name"?: *"?([\w.-]{1,253})"?,?\s*')
_CONTAINER = re.compile(r"( *)([\w.-]{1,253}):\s*")
_MEMORY = re.compile(r" *memory: +(\d{1,15})([KMGT]i?|k)?\s*")
_LIMIT = phrase("limit of the container")

_WHOSE = phrase(
    "The kernel killed a process of the container: for the container's limit, or because the machine had "
    "no memory left. "
    "`dmesg -T | grep -i 'killed process'` on the node says which, and how large the process was."
)


def oom_killed(log: Log, number: int) -> Explanation | NotMemory | None:
    """A container whose process was killed for memory, in whichever form it is listed."""
    line = log.line(number)
    if '"OOMKilled"' in line and ":" in line.partition('"OOMKilled"')[2][:2]:
        return _inspected(log, number)
    if found := _DESCRIBED.fullmatch(line):
        return _described(log, number, len(found[1]))
    if _AS_DATA.fullmatch(line):
        return _as_data(log, number)
    if found := _IN_TABLE.match(line):
        return _explained(phrase("the pod {pod}", pod=plain_name(found[1])), number, number, None, [])
    return None


def _explained(what: Text, first: int, last: int, code: int | None, amounts: list[Amount]) -> Explanation:
    conclusions = [_WHOSE]
    if code is not None and code != _SIGKILL:
        conclusions.append(
            phrase(
                "The exit code is {code}, not 137: it wasn't the container's first process that was killed, but one "
                "that it had started.",
                code=code,
            )
        )
    return Explanation(
        title=phrase("The kernel killed a process of {what} for memory (OOMKilled)", what=what),
        first_line=first + 1,
        last_line=last + 1,
        ended_by="kernel",
        memory="process",
        amounts=amounts,
        conclusions=conclusions,
        settings=[
            phrase(
                "The limit is resources.limits.memory in Kubernetes, --memory in Docker. A runtime's own limit on its "
                "heap should be well below it, so that the runtime fails first and can say why."
            )
        ],
    )


def _container(name: str) -> Text:
    return phrase("the container {name}", name=plain_name(name)) if name else phrase("a container")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _described(log: Log, number: int, indent: int) -> Explanation:
    """As ``kubectl describe pod`` prints it: a container's name stands above, its limits below."""
    first, name, depth = number, "", indent
    for each, line in log.before(number, _MOST_BEFORE):
        if line.strip() and _indent(line) < depth:
            depth = _indent(line)
            head = _CONTAINER.fullmatch(line)
            if head is not None and head[2] not in ("State", "Last State"):
                first, name = each, head[2]
                break
            # the state's own line, deeper than the container's
            if ":" not in line:
                break
    code, last, amounts, in_limits = None, number, list[Amount](), False
    for each, line in log.lines(number + 1, _MOST_BEFORE):
        if not line.strip() or _indent(line) <= depth:
            break
        if code is None and (found := _EXIT_CODE.search(line)):
            code, last = int(found[1]), each
        if line.strip() == "Limits:":
            in_limits = True
        elif in_limits and (found := _MEMORY.fullmatch(line)):
            limit = amount_of(_LIMIT, found[1], found[2] or "")
            if limit is not None:
                amounts.append(limit)
            last = each
            break
        elif in_limits and line.rstrip().endswith(":") and _indent(line) <= indent:
            break
    return _explained(_container(name), first, last, code, amounts)


def _as_data(log: Log, number: int) -> Explanation:
    """As YAML or JSON: the exit code stands beside the reason, the container's name further out, below it."""
    indent, code, name, first, last = _indent(log.line(number)), None, "", number, number
    for each, line in log.before(number, 6):
        if _indent(line) != indent:
            break
        if found := _EXIT_CODE.search(line):
            code, first = int(found[1]), each
    for each, line in log.lines(number + 1, 20):
        found = _EXIT_CODE.search(line) if code is None and _indent(line) == indent else None
        if found:
            code, last = int(found[1]), each
        if _indent(line) < indent and (named := _NAMED.fullmatch(line.strip())):
            name, last = named[1], each
            break
    return _explained(_container(name), first, last, code, [])


_DOCKER_NUMBER = re.compile(r'\s*"(Memory|ExitCode)": (\d{1,18}),?\s*')
_DOCKER_NAME = re.compile(r'\s*"Name": "/([\w.-]{1,200})",?\s*')


def _inspected(log: Log, number: int) -> Explanation | NotMemory:
    """As ``docker inspect`` prints it, or a line of it."""
    is_killed = "true" in log.line(number).partition('"OOMKilled"')[2]
    name, numbers, last = "", dict[str, int](), number
    for each, line in log.lines(number + 1, _MOST_AFTER):
        if '"OOMKilled"' in line:
            break
        if found := _DOCKER_NUMBER.fullmatch(line):
            numbers.setdefault(found[1], int(found[2]))
            last = each
        elif not name and (found := _DOCKER_NAME.fullmatch(line)):
            name, last = found[1], each
        if "Memory" in numbers:
            break
    code = numbers.get("ExitCode")
    if not is_killed:
        return NotMemory(
            title=phrase(
                "Docker's OOMKilled is false: the kernel killed no process of the container for memory"
            ),
            advice=phrase(
                "An exit code of 137 is then another SIGKILL, as by docker stop after its grace period; "
                "other codes are the program's own."
            ),
            first_line=number + 1,
        )
    amounts = [Amount(_LIMIT, numbers["Memory"])] if numbers.get("Memory") else []
    return _explained(_container(name), number, last, code, amounts)


_EVICTED = re.compile(r"The node was low on resource: memory\.([^\n]{0,1000})")
_QUANTITY = re.compile(r"(Threshold quantity|available): (\d{1,15})([KMGT]i?|k)?\b")
_USING = re.compile(
    r"Container ([\w.-]{1,253}) was using (\d{1,15})([KMGT]i?|k)?, "
    r"(?:request is|which exceeds its request of) (\d{1,15})([KMGT]i?|k)?"
)


def evicted(log: Log, number: int) -> Explanation | None:
    """A pod that the kubelet ended, because its node had little memory left."""
    found = _EVICTED.search(log.line(number))
    if found is None:
        return None
    rest, amounts = found[1], list[Amount | None]()
    labels = {
        "Threshold quantity": phrase("free memory below which the node evicts"),
        "available": phrase("free on the node"),
    }
    for quantity in _QUANTITY.finditer(rest):
        amounts.append(amount_of(labels[quantity[1]], quantity[2], quantity[3] or ""))
    for using in _USING.finditer(rest):
        name = plain_name(using[1])
        amounts.append(amount_of(phrase("used by the container {name}", name=name), using[2], using[3] or ""))
        amounts.append(amount_of(phrase("requested for {name}", name=name), using[4], using[5] or ""))
    return Explanation(
        title=phrase("Kubernetes evicted the pod, because its node was low on memory"),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="manager",
        memory="process",
        amounts=[each for each in amounts if each is not None],
        conclusions=[
            phrase(
                "No limit did it: the node's pods together used too much. Those that use more than they requested are "
                "evicted first."
            )
        ],
        settings=[phrase("resources.requests.memory says how much a pod is sure to have.")],
    )


_SLURM = re.compile(
    r"error: Detected \d{1,9} oom[-_]kill event(?:\(s\)|s)? in (?:step |StepId=)([\w.+]{1,60}?)\.?(?:\s|$)"
)


def killed_in_slurm(log: Log, number: int) -> Explanation | None:
    """A step of a job that exceeded its memory."""
    found = _SLURM.search(log.line(number))
    if found is None:
        return None
    return Explanation(
        title=phrase(
            "The kernel killed a process of Slurm's step {step} for memory", step=plain_name(found[1])
        ),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="kernel",
        memory="process",
        conclusions=[
            phrase(
                "`sacct -j JOB -o JobID,State,MaxRSS,ReqMem` says how much was requested and, sampled, how "
                "much was used."
            )
        ],
        settings=[phrase("The limit is Slurm's: --mem or --mem-per-cpu of the job.")],
    )


_EXITED = re.compile(
    r"(?:[eE]xit(?:ed)?(?:[ -]?(?:[sS]tatus|[cC]ode))?\"?|code)(?: with)?(?: (?:code|status))?[:= (]{0,12}137\b"
)
_SHELL = re.compile(r"(?:^|: {1,4})(?:line \d{1,9}: {1,4})?(?:\d{1,10} )?Killed(?:$| {2})")


def ended_by_sigkill(log: Log, number: int) -> Explanation | None:
    """A process that SIGKILL ended, as a shell or whatever started it says; nothing says who sent it."""
    line = log.line(number).rstrip()
    if _EXITED.search(line) is None and _SHELL.search(line) is None:
        return None
    return Explanation(
        title=phrase("A process was ended by SIGKILL, and the text doesn't say who sent it"),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="unknown",
        memory="unknown",
        conclusions=[
            phrase(
                "137 is 128 + 9, the number of SIGKILL, which no program can catch. The kernel sends it "
                "when memory runs "
                "out; so do kill -9, docker stop and Kubernetes after their grace period, and schedulers at the end of "
                "a job's time."
            )
        ],
        settings=[
            phrase(
                "Ask the kernel: `dmesg -T | grep -i 'killed process'` or `journalctl -k` on that machine; or the "
                "container: `kubectl describe pod`, `docker inspect`. Memlens explains what they print."
            )
        ],
    )


_EVENTS = re.compile(r"oom_kill (\d{1,15})\s*")


def events_of_group(log: Log, number: int) -> Explanation | NotMemory | None:
    """``memory.events`` of a control group."""
    found = _EVENTS.fullmatch(log.line(number))
    if found is None or not log.line(max(number - 1, 0)).startswith("oom "):
        return None
    killed = int(found[1])
    if killed == 0:
        return NotMemory(
            title=phrase(
                "memory.events has an oom_kill of 0: the kernel killed no process of the control group"
            ),
            advice=phrase(
                "Its max counts how often the limit was reached and memory could still be reclaimed."
            ),
            first_line=number + 1,
        )
    return Explanation(
        title=phrase(
            plural(
                killed,
                "The kernel killed {count} process of the control group for memory",
                "The kernel killed {count} processes of the control group for memory",
            ),
            count=killed,
        ),
        first_line=number,
        last_line=number + 1,
        ended_by="kernel",
        memory="process",
        conclusions=[_WHOSE],
        settings=[phrase("memory.max in the same folder is the limit, memory.peak the most that was used.")],
    )
