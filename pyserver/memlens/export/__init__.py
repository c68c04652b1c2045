"""Writers of other tools' formats."""
