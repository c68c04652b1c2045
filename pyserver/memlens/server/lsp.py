"""LSP's types, imported in half the time: ``app`` imports this before anything else imports them.

They are 554 classes of attrs, for each of which attrs writes and compiles methods. Nobody compares or prints them here.
"""

import functools

import attrs

_define = attrs.define
attrs.define = functools.partial(_define, eq=False, repr=False, slots=False)
try:
    from lsprotocol import types
finally:
    attrs.define = _define

__all__ = ["types"]
