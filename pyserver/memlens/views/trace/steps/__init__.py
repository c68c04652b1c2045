"""The steps of a run, its annotations, and what grows from step to step."""
