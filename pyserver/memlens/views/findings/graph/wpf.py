"""What WPF keeps alive after a program has let go of it: by bindings, names, text boxes' undo, unfrozen Freezables.

A .gcdump has no fields, so each rule leaves out the references from WPF's own tables, known by their types, and looks
at what no root reaches any longer. Which tables hold what is in WPF's source: a ``ValueChangedRecord`` and the property
descriptor's table hold the source of a binding as long as somebody listens, ``ViewManager`` the views of collections
without an event, ``NameScope`` elements by name, and a ``Freezable`` what inherits from it or listens to it.
"""

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from memlens.model.distinct import distinct
from memlens.texts import Text, phrase, plural
from memlens.views.findings.answers import ObjectsLink
from memlens.views.findings.graph.case import (
    GraphCase,
    chosen,
    figure,
    measured,
    object_part,
    retained_sql,
)  # fmt: skip
from memlens.views.findings.graph.collections import counted as counted_types
from memlens.views.findings.graph.held import and_held, held_by
from memlens.views.findings.graph.subscribers import is_delegate
from memlens.views.findings.writing import Ranked, linked, made, percent
from memlens.views.graph.packages import packages_of
from memlens.views.graph.reach import lost_without
from memlens.views.graph.rows import Numbers, references_of_all

_MOST_LISTED = 1_000
_DESCRIPTOR = re.compile(r"(?:^|\.)\w*PropertyDescriptor$")
_RECORD = re.compile(r"(?:^|\.)ValueChangedRecord$")
_OF_BINDINGS = re.compile(r"ValueChangedEvent|ListenerList|(?:^|\.)PropertyChangeTracker$")
"""What tables and records of bindings have beside the sources."""
_CONTAINER = re.compile(
    r"^System\.Collections\.(?:Hashtable(?:\.SyncHashtable)?|Specialized\.(?:Hybrid|List)Dictionary"
    r"|(?:Generic\.|Concurrent\.Concurrent)Dictionary<.*>)$"
)
_PART = re.compile(
    r"^(?:System\.Collections\.(?:\w+\.)*)?"
    r"(?:[Bb]ucket\[\]|DictionaryNode|(?:Entry|Node|VolatileNode|Tables)<.*>(?:\[\])?)$"
)
"""Dictionaries and their parts; .NET's newer files have the parts without the names around them."""
_SCOPE = re.compile(r"^System\.Windows\.(?:Template)?NameScope$")
_VALUES = "System.Windows.EffectiveValueEntry[]"
"""The values of a DependencyObject's properties."""
_VIEW_MANAGER = "MS.Internal.Data.ViewManager"
_VIEW = re.compile(r"CollectionView$")
_UNDO = re.compile(r"^(?:MS\.Internal|System\.Windows)\.Documents\.UndoManager$")
_FREEZABLE = re.compile(
    r"^System\.Windows\.(?:Media\.(?:\w+\.)*\w*"
    r"(?:Brush|Pen|DashStyle|Transform|Transform3D|Group|Geometry|Drawing|DrawingImage|Effect|Image|Bitmap|Model3D|"
    r"Material|Camera|Animation|AnimationUsingKeyFrames|GradientStop|GradientStopCollection|TransformCollection)"
    r"|Media\.Animation\.(?:Storyboard|ParallelTimeline)|Media\.Imaging\.\w+)$"
)
"""The Freezables of WPF; those of a program can't be told from other types."""
_HANDLERS = re.compile(
    r"^System\.Windows\.Freezable\.HandlerContextStorage$|^HandlerContextStorage$"
    r"|^MS\.Utility\.(?:FrugalObjectList|\w*ItemList)<System\.EventHandler>$|^System\.EventHandler\[\]$"
    r"|^System\.(?:Object|Delegate)\[\]$"
)
"""In what a Freezable has the delegates that listen to it, of which those with many targets have these in an array."""


def bindings(case: GraphCase) -> Iterator[Ranked]:
    """Objects that only WPF's bindings to their properties keep alive retain little: 1% of the reachable heap, 32 KiB.

    The sources of bindings by property descriptors, as WPF binds to types without INotifyPropertyChanged.
    """
    sources, is_bound = _value_sources(case)
    title = phrase("Kept by bindings")
    keeper = phrase("bindings to properties")
    advice = phrase(
        "WPF listens to a type without INotifyPropertyChanged by a property descriptor, which refers to the object: "
        "implement the interface, or bind with Mode=OneTime."
    )
    yield from _found(case, "bindings", title, sources[is_bound], keeper, advice)


def value_handlers(case: GraphCase) -> Iterator[Ranked]:
    """Objects that only handlers of AddValueChanged keep alive retain little.

    As of a ``DependencyPropertyDescriptor``: descriptors are static, and have the objects in a table.
    """
    sources, is_bound = _value_sources(case)
    title = phrase("Kept by AddValueChanged")
    keeper = phrase("handlers of property descriptors")
    advice = phrase("Call RemoveValueChanged for each AddValueChanged.")
    yield from _found(case, "value_handlers", title, sources[~is_bound], keeper, advice)


def _value_sources(case: GraphCase) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Objects that only property descriptors' handlers keep alive, and which of them WPF's bindings are for."""
    return case.snapshot.keep("findings.wpf sources", lambda: _find_value_sources(case))


def _find_value_sources(case: GraphCase) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    tables = _tables(case, _instances(case, _DESCRIPTOR.search))
    if not len(tables):
        # what a record holds is in a table as well
        return np.zeros(0, np.int64), np.zeros(0, np.bool_)
    bound, held = _rows_of(case, _instances(case, _RECORD.search)), _rows_of(case, tables)
    is_other = _types(
        case,
        lambda name: (
            is_delegate(name) or any(kind.search(name) for kind in (_DESCRIPTOR, _RECORD, _OF_BINDINGS))
        ),
    )[case.snapshot.objects.type]
    is_other[tables] = True
    is_source = lost_without(case.snapshot, np.concatenate((bound, held))) & ~is_other
    by_binding, by_table = (_targets(case, rows, is_source) for rows in (bound, held))
    sources = distinct(np.concatenate((by_binding, by_table)))
    return sources, np.isin(sources, by_binding)


def collection_views(case: GraphCase) -> Iterator[Ranked]:
    """Collections that only WPF's table of views keeps alive retain little."""
    managers = _instances(case, _VIEW_MANAGER.__eq__)
    if not len(managers):
        return
    lost = lost_without(case.snapshot, _rows_of(case, managers))
    views = _instances(case, _VIEW.search)
    views = views[lost[views]]
    rows, of = references_of_all(case.snapshot, views)
    targets = case.snapshot.references.target[rows].astype(np.int64)
    types = case.snapshot.objects.type
    is_wpf = _types(
        case, lambda name: is_delegate(name) or name.startswith(("MS.Internal.", "System.Windows."))
    )
    is_own = lost[targets] & ~is_wpf[types[targets]]
    targets, of = targets[is_own], of[is_own]
    # a view refers to the collection, and to the element that is current, which the collection refers to as well
    alone = [
        number for number in distinct(targets).tolist() if is_wpf[types[_referrers(case, [number])]].all()
    ]
    order = np.lexsort((case.snapshot.objects.retained[targets], np.isin(targets, alone), of))
    last = np.append(np.diff(of[order]) != 0, True)[: len(order)]
    title = phrase("Kept by views of collections")
    keeper = phrase("views of WPF's data binding")
    advice = phrase(
        "WPF keeps the view of a collection without INotifyCollectionChanged for some time after its last use: bind to "
        "an ObservableCollection."
    )
    yield from _found(
        case, "collection_views", title, distinct(targets[order][last]), keeper, advice, with_them=views
    )


def named_elements(case: GraphCase) -> Iterator[Ranked]:
    """Elements that only their names in the NameScope of another element keep alive retain little.

    With the fields that the compiler makes for names in XAML: references from an object of the program's own that has
    the scope to what is named in it, which is inferred.
    """
    scopes = _instances(case, _SCOPE.search)
    tables = _tables(case, scopes)
    if not len(tables):
        return
    rows = _rows_of(case, tables)
    is_other = _types(case, "System.String".__eq__)[case.snapshot.objects.type]
    is_other[tables] = True
    named = _targets(case, rows, ~is_other)
    fields = _fields(case, scopes, named)
    lost = lost_without(case.snapshot, np.concatenate((rows, fields)))
    members = named[lost[named]]
    title = phrase("Kept by name")
    by_field = bool(np.isin(case.snapshot.references.target[fields], members).any())
    keeper, advice = (
        (
            phrase("names in a NameScope and fields for x:Name"),
            phrase(
                "They are in no tree of elements any more: call UnregisterName and set the field to null, or leave the "
                "name out."
            ),
        )
        if by_field
        else (
            phrase("names in a NameScope"),
            phrase(
                "They are in no tree of elements any more: call UnregisterName when an element is removed, or leave "
                "x:Name out."
            ),
        )
    )
    yield from _found(case, "named_elements", title, members, keeper, advice, inferred=by_field)


def _fields(case: GraphCase, scopes: Numbers, named: Numbers) -> Numbers:
    """The references from objects of the program's own that have a NameScope straight to what is named in one."""
    types = case.snapshot.objects.type
    is_values, is_platform = (
        _types(case, lambda name: name == _VALUES),
        packages_of(case.snapshot).is_platform,
    )
    values = _referrers(case, scopes)
    owners = _referrers(case, values[is_values[types[values]]])
    rows = _rows_of(case, owners[~is_platform[types[owners]]])
    found: Numbers = rows[np.isin(case.snapshot.references.target[rows], named)]
    return found


def undo_stacks(case: GraphCase) -> Iterator[Ranked]:
    """What text boxes of WPF keep to undo retains little."""
    members = _instances(case, _UNDO.search)
    if not len(members) or case.at_most(members) < case.least:
        return
    total = case.retained(members)
    if total < case.least:
        return
    condition = _listed(members)
    shown = figure(total, retained_sql(condition) if condition else "")
    largest = int(members[np.argmax(case.snapshot.objects.retained[members])])
    sentence = phrase(
        plural(
            len(members),
            "What {n} text box can undo retains {size} ({share} of the reachable heap); the largest is {object}{held}. "
            "Set UndoLimit, or IsUndoEnabled to false where nobody undoes.",
            "What {n} text boxes can undo retains {size} ({share} of the reachable heap); the largest is "
            "{object}{held}. Set UndoLimit, or IsUndoEnabled to false where nobody undoes.",
        ),
        n=len(members), size=measured(shown, _link(case, members)), share=percent(total, case.whole),
        object=object_part(case, largest), held=and_held(held_by(case, largest)),
    )  # fmt: skip
    yield Ranked(
        total / case.whole,
        made("undo_stacks", phrase("Undo stacks"), sentence, shown, None, objects=_link(case, members)),
        members,
    )


def freezables(case: GraphCase) -> Iterator[Ranked]:
    """Elements and objects of the program's own that only brushes and other Freezables of WPF keep alive retain little.

    A Freezable that isn't frozen refers to the element whose property it is, and has a delegate for each object that
    listens to it. That these references are such is inferred.
    """
    owners = _instances(case, _FREEZABLE.search)
    if not len(owners):
        return
    types = case.snapshot.objects.type
    is_freezable = _types(case, _FREEZABLE.search)
    listens = _types(case, _listens)
    is_element = _has_values(case) & ~is_freezable[types]
    rows = _rows_of(case, owners)
    targets = case.snapshot.references.target[rows]
    rows = rows[listens[types[targets]] | is_element[targets]]
    if not len(rows):
        return
    lost = lost_without(case.snapshot, rows)
    firsts = _targets(case, rows, lost)
    lists = firsts[listens[types[firsts]]]
    through = distinct(np.concatenate((lists, _below(case, lists, _listens))))
    reached = distinct(np.concatenate((firsts, _targets(case, _rows_of(case, through), lost))))
    is_own = ~packages_of(case.snapshot).is_platform[types] | is_element
    members = reached[is_own[reached] & ~listens[types[reached]] & ~is_freezable[types[reached]]]
    title = phrase("Kept by Freezables")
    keeper = phrase("brushes or other Freezables")
    advice = phrase(
        "One that isn't frozen refers to the elements that use it, and what is shared outlives them: freeze it."
    )
    yield from _found(case, "freezables", title, members, keeper, advice, inferred=True)


def _listens(name: str) -> bool:
    return is_delegate(name) or _HANDLERS.search(name) is not None


def _found(
    case: GraphCase,
    rule: str,
    title: Text,
    members: Numbers,
    keeper: Text,
    advice: Text,
    *,
    with_them: Numbers | None = None,
    inferred: bool = False,
) -> Iterator[Ranked]:
    """A finding about some objects, the figure being what they retain together with others that hold them."""
    named = case.reached(members)
    if not len(named):
        return
    members = named if with_them is None else distinct(np.concatenate((named, case.reached(with_them))))
    total = case.retained(members)
    if total < case.least:
        return
    condition = _listed(members)
    shown = figure(total, retained_sql(condition) if condition else "")
    link = _link(case, members)
    largest = int(members[np.argmax(case.snapshot.objects.retained[members])])
    sentence = phrase(
        "{size} ({share} of the reachable heap) is retained by {objects}, which only {keeper} keep alive. {advice}",
        size=measured(shown, link), share=percent(total, case.whole), keeper=keeper, advice=advice,
        objects=linked(counted_types(case, named), objects=link),
    )  # fmt: skip
    finding = made(rule, title, sentence, shown, None, case.line(largest), inferred=inferred, objects=link)
    yield Ranked(2 * total / case.whole + 0.1, finding, members)


def _listed(members: Numbers) -> str:
    return f"object IN ({', '.join(map(str, members.tolist()))})" if len(members) <= _MOST_LISTED else ""


def _link(case: GraphCase, members: Numbers) -> ObjectsLink:
    return chosen(_listed(members) or case.of_their_types(members))


def _name(name: str) -> str:
    """A type's name as rules look for it: PerfView adds notes to names, and writes nested types with a plus sign."""
    return name.split(" (", 1)[0].replace("+", ".")


def _types(case: GraphCase, test: Callable[[str], object]) -> npt.NDArray[np.bool_]:
    """An item a type: whether its name passes a test."""
    found = np.zeros(len(case.type_names()), np.bool_)
    found[case.types_where(lambda name: test(_name(name)))] = True
    return found


def _instances(case: GraphCase, test: Callable[[str], object]) -> Numbers:
    """The instances that roots reach of types whose names pass a test; none where the dump isn't of .NET."""
    if case.info.kind != "gcdump":
        return np.zeros(0, np.int64)
    return case.instances(np.flatnonzero(_types(case, test)).tolist()).astype(np.int64)


def _rows_of(case: GraphCase, numbers: Numbers) -> Numbers:
    """The references of some objects, by number."""
    return references_of_all(case.snapshot, numbers)[0]


def _targets(case: GraphCase, rows: Numbers, of: npt.NDArray[np.bool_]) -> Numbers:
    """Those of some objects that some references lead to."""
    found = distinct(case.snapshot.references.target[rows]).astype(np.int64)
    return found[of[found]]


def _below(case: GraphCase, numbers: Numbers, test: Callable[[str], object]) -> Numbers:
    """What some objects refer to and, through that, whatever is of types whose names pass a test."""
    passes, types = _types(case, test), case.snapshot.objects.type
    seen = np.zeros(len(types), np.bool_)
    while len(numbers):
        found = _targets(case, _rows_of(case, numbers), ~seen)
        numbers = found[passes[types[found]]]
        seen[numbers] = True
    return np.flatnonzero(seen)


def _tables(case: GraphCase, owners: Numbers) -> Numbers:
    """The dictionaries that some objects refer to, with all their parts, not what these hold."""
    containers = _below(case, owners, _CONTAINER.search)
    return np.concatenate((containers, _below(case, containers, _PART.search)))


def _referrers(case: GraphCase, numbers: Sequence[int] | Numbers) -> Numbers:
    """What refers to some objects."""
    stored = case.snapshot.references
    parts = [
        stored.referrer[int(stored.referrer_start[number]) : int(stored.referrer_start[number + 1])]
        for number in map(int, numbers)
    ]
    return distinct(np.concatenate(parts)).astype(np.int64) if parts else np.zeros(0, np.int64)


def _has_values(case: GraphCase) -> npt.NDArray[np.bool_]:
    """An item an object: whether it has values of WPF's properties, as elements do."""
    found = np.zeros(len(case.snapshot.objects.type), np.bool_)
    found[_referrers(case, _instances(case, _VALUES.__eq__))] = True
    return found
