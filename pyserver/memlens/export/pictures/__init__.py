"""Pictures as SVG, drawn from the views' answers, for files and for the report."""
