"""Pictures as SVG: drawn from what the views answer, for files and for the report."""
