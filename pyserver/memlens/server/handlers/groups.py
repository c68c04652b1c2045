"""The requests of the tree table."""

from memlens.server.protocol.groups import GroupsParams, MembersParams
from memlens.server.wire import Questions
from memlens.store.snapshot import Snapshot
from memlens.views.tables import groups
from memlens.views.tables.groups import GroupsAnswer, MembersAnswer


def _groups(snapshot: Snapshot, p: GroupsParams) -> GroupsAnswer:
    return groups.groups(snapshot, p.branch, p.order, p.offset, p.limit, descending=p.descending)


def _members(snapshot: Snapshot, p: MembersParams) -> MembersAnswer:
    return groups.members(snapshot, p.branch, p.order, p.offset, p.limit, descending=p.descending)


QUESTIONS: Questions = {
    "memlens/groups": _groups,
    "memlens/members": _members,
}
