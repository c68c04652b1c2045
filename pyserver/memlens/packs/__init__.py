"""Packs: all that Memlens knows of one world (a runtime and its formats) in a folder, which ``PACK`` declares.

``api.py`` has what a pack may declare, ``registry.py`` the packs; nothing else loads one.
"""
