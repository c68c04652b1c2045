"""In place of numpy.random, which is left out of packages: Dask calls ``seed`` in every worker that has NumPy."""


def seed(seed: object = None) -> None:
    """Do nothing: there are no random numbers here."""
