"""Between pygls and our structs: parameters are checked when they arrive, errors are sent as data."""

import contextlib
import logging
import platform
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError, MemlensError, Problem
from memlens.project import ISSUES, system
from memlens.server import language, protocol
from memlens.server.questions import UNNAMED, types_of
from memlens.server.reporting import reported
from memlens.store.models import LackingError
from memlens.texts import Text, phrase
from memlens.version import own_version

logger = logging.getLogger(__name__)

P = TypeVar("P", bound=msgspec.Struct)
R = TypeVar("R", bound=msgspec.Struct)


class Request(NamedTuple):
    """A request of the client: its types, what it is called in a refusal, and whether a view asks it itself."""

    params: type[msgspec.Struct]
    result: type[msgspec.Struct]
    name: Text = UNNAMED
    of_view: bool = False


REQUESTS: dict[str, Request] = {}
"""What the client asks and the server answers: all that is registered, from which the contract is written.

The host passes on whatever its page asks by the methods ``of_view``, so none of these names a file to read or to write.
"""

REQUEST_FAILED = types.LSPErrorCodes.RequestFailed.value


def answer(
    server: LanguageServer,
    method: str,
    handler: Callable[[P], Awaitable[R]],
    request: Request | None = None,
    *,
    of_view: bool = False,
    name: Text = UNNAMED,
) -> None:
    """Register ``handler``, whose types are those of the ``request`` if that isn't given."""
    declared = request or Request(*types_of(handler), name, of_view)
    REQUESTS[method] = declared

    # Annotated as Any: pygls passes the server to a handler whose first parameter accepts one, as `object` does.
    async def answered(params: Any) -> object:
        try:
            decoded = msgspec.convert(params, declared.params)
        except msgspec.ValidationError as error:
            raise JsonRpcInvalidParams(f"{method}: the parameters do not fit: {error}") from error
        try:
            with reporting(_token_of(params), method, server.protocol.notify):
                return msgspec.Raw(msgspec.json.encode(await handler(cast("P", decoded))))
        except LackingError as error:
            problem = error.to(declared.name).problem()
        except MemlensError as error:
            problem = error.problem()
        except UnicodeEncodeError:
            # a JSON string may contain a lone surrogate, which no name here can have
            problem = BadRequestError(phrase("A text in the request can't be encoded as UTF-8")).problem()
        except Exception as error:
            logger.exception("%s failed (%s)", method, about_this_process())
            problem = internal_problem(error)
        # Raised here and not above: pygls keeps it in a reference cycle until garbage collection; chained to the
        # original error it would keep alive the question's frames, and through them the snapshot's maps.
        raise failure(problem)

    server.feature(method)(answered)


@contextlib.contextmanager
def reporting(
    token: int | str | None, title: str, notify: Callable[[str, types.ProgressParams], None]
) -> Iterator[None]:
    """Notify the client of the progress of a request, if it has a ``workDoneToken``, in LSP's notifications."""
    if token is None:
        yield
        return
    last = 0

    def report(fraction: float) -> None:
        nonlocal last
        percentage = min(int(fraction * 100), 100)
        # most answers are there before anything is known of them
        if percentage <= last:
            return
        if last == 0:
            notify(types.PROGRESS, types.ProgressParams(token, types.WorkDoneProgressBegin(title)))
        last = percentage
        notify(
            types.PROGRESS,
            types.ProgressParams(token, types.WorkDoneProgressReport(percentage=percentage)),
        )

    before = reported.set(report)
    try:
        yield
    finally:
        reported.reset(before)
        if last:  # pyrefly: ignore[redundant-condition] - `report` sets it
            notify(types.PROGRESS, types.ProgressParams(token, types.WorkDoneProgressEnd()))


def _token_of(params: Any) -> int | str | None:
    """LSP's token, by which the client knows notifications of a request's progress."""
    token = params.get("workDoneToken") if isinstance(params, dict) else None
    return token if isinstance(token, int | str) else None


def failure(problem: Problem) -> JsonRpcException:
    """A problem as an error of a JSON-RPC response, in the client's language."""
    message, advice = language.spoken(problem.message), language.spoken(problem.advice)
    sent = protocol.Problem(problem.code, message, advice, problem.offset, problem.retry)
    return JsonRpcException(message, REQUEST_FAILED, msgspec.to_builtins(sent))


def internal_problem(error: BaseException) -> Problem:
    """The problem that reports an unexpected error."""
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Problem(
        code="internal",
        message=phrase("Internal error ({what})", what=what),
        advice=(
            phrase(
                "Nothing is lost, and everything else continues to work. Please report it at {address} with its entry "
                'in "Memlens: Show Log" and what "Memlens: Copy Diagnostics" copies.',
                address=ISSUES,
            )
        ),
    )


def about_this_process() -> str:
    """The versions that a bug report needs."""
    return f"memlens {own_version()}, Python {platform.python_version()}, {system()}"
