"""What language models may ask about snapshots: one table for MCP, for VS Code and for its manifest.

``parameters`` has a struct of arguments for each tool, ``table`` their names and descriptions, ``answers`` what answers
them, by the same functions as the command line's ``--json``. ``reading`` makes what a model reads of an answer, and
``session`` opens files and turns errors into sentences.
"""
