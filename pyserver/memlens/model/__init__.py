"""The three models that every format is converted into: columns that are independent of the format."""
