"""Proof of what ``memlens redact`` wrote: plain readers of each format that know nothing of the redactor.

``verify`` compares a copy with its original, ``forbidden`` searches a file for texts in any encoding, and ``staying``
lists the texts that a copy still has.
"""
