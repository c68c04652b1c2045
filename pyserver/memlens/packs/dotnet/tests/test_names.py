"""Types of .NET, from their names in dumps to those in source."""

import pytest

from memlens.sources.declarations import TypeName, type_name


@pytest.mark.parametrize(
    ("name", "package", "names"),
    [
        ("App.Data.Repository+Entry[]", "App.Data", ("Repository", "Entry")),
        (
            "App.Data.Repository<System.Collections.Generic.List<App.X>>",
            "App.Data",
            ("Repository",),
        ),
        ("App.Data.Repository`1[App.X]", "App.Data", ("Repository",)),
        ("App.Program+<>c__DisplayClass1_0", "App", ("Program",)),
        ("App.Program+<Main>d__0", "App", ("Program",)),
    ],
)
def test_names_of_types(name: str, package: str, names: tuple[str, ...]) -> None:
    assert type_name("gcdump", name) == TypeName(package, names)


def test_nodes_of_the_dump_are_no_types() -> None:
    assert type_name("gcdump", "[static vars]") is None
