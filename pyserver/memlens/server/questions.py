"""What a view asks about its own snapshot: a typed function that :func:`question` declares, and nothing else.

Its parameters, its result and its docstring are the contract, from which TypeScript is generated. ``cost`` says where
it is answered, so that no other question has to wait for one that takes long.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeVar, get_type_hints

from msgspec import Struct, defstruct

from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase

A = TypeVar("A", bound=Callable[..., Struct])

UNNAMED = phrase("this")
"""The name of a question without one, for refusals."""


def _never(_params: Any) -> bool:
    return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """The slow work that a question may need, by its parameters. Without any, the snapshot's thread answers it."""

    is_long: Callable[[Any], bool] = _never
    """Of a heap dump it may visit much of the graph, or read the file: it is answered beside the thread."""
    filter: Callable[[Any], str] = lambda _params: ""
    """The filter of objects that it evaluates, which may have terms that take long."""
    is_known: Callable[[Snapshot, Any], bool] | None = None
    """Whether what may take long was worked out before."""
    needs_paths: Callable[[Any], bool] = _never
    """Whether it is about the tree of shortest paths of a heap dump, which is then made first."""
    shows_paths: Callable[[Snapshot], bool] = lambda _snapshot: True
    """Whether the snapshot has something of that tree to show, where the parameters alone don't say it."""
    needs_findings: bool = False
    """Whether it is made of the findings of ``device``, which are then made first."""


LONG = Cost(is_long=lambda _params: True)
OF_FINDINGS = Cost(needs_findings=True)


class Question(NamedTuple):
    """A question with its types; ``name`` is its name in a refusal for files that can't answer it."""

    ask: Callable[[Snapshot, Any], Any]
    params: type[Struct]
    result: type[Struct]
    name: Text
    cost: Cost


QUESTIONS: dict[str, Question] = {}
"""All that are declared, by their methods: :mod:`memlens.server.handlers.views` imports their modules."""


def question(method: str, *, name: Text = UNNAMED, cost: Cost | None = None) -> Callable[[A], A]:
    """Declare the function as the answer to ``method``; several methods may have the same ``name``.

    The name is what the refusal says: "which are needed for the memory map". The function takes the snapshot and the
    parameters by name, ``filter_`` for ``filter``; or the snapshot and a struct, where several share one.
    """

    def declare(ask: A) -> A:
        if method in QUESTIONS:
            raise TypeError(f"{method} is declared twice")
        hints = get_type_hints(ask, include_extras=True)
        result = hints.pop("return")
        _, *parameters = signature(ask).parameters.values()
        if len(parameters) == 1 and _is_struct(hints[parameters[0].name]):
            QUESTIONS[method] = Question(ask, hints[parameters[0].name], result, name, cost or Cost())
            return ask
        params = _params_of(method, parameters, hints, ask.__doc__ or "")
        names = [(each.name, _sent(each.name)) for each in parameters]

        def answered(snapshot: Snapshot, params: Any) -> Struct:
            return ask(snapshot, **{own: getattr(params, sent) for own, sent in names})

        QUESTIONS[method] = Question(answered, params, result, name, cost or Cost())
        return ask

    return declare


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct) and "snapshot" in kind.__struct_fields__


def _sent(name: str) -> str:
    """A parameter's name in the contract."""
    return name.removesuffix("_")


def _params_of(
    method: str, parameters: list[Parameter], hints: dict[str, Any], documentation: str
) -> type[Struct]:
    """The struct of a question's parameters: ``HeapTypesParams`` for ``memlens/heapTypes``."""
    subject = method.partition("/")[2]
    fields: list[Any] = [("snapshot", str)]
    for each in parameters:
        default = () if each.default is Parameter.empty else (each.default,)
        fields.append((_sent(each.name), hints[each.name], *default))
    return defstruct(
        f"{subject[:1].upper()}{subject[1:]}Params",
        fields, frozen=True, kw_only=True, namespace={"__doc__": documentation},
    )  # fmt: skip


def types_of(ask: Callable[..., Any]) -> tuple[type[Struct], type[Struct]]:
    """The structs that a function takes as its last parameter and returns."""
    hints = get_type_hints(ask)
    result = hints.pop("return")
    return list(hints.values())[-1], result
