"""A set of allocations as a tree table."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.server.protocol.base import Count
from memlens.views.tables.groups import Branch, GroupOrder, MemberOrder

Page = Annotated[int, Meta(ge=1, le=1000)]


class GroupsParams(Struct, frozen=True):
    """The groups directly below a branch."""

    snapshot: str
    branch: Branch
    order: GroupOrder
    descending: bool
    offset: Count
    limit: Page


class MembersParams(Struct, frozen=True):
    """The allocations in a branch, at all levels."""

    snapshot: str
    branch: Branch
    order: MemberOrder
    descending: bool
    offset: Count
    limit: Page
