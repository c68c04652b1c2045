"""Sets grouped into trees of rows, and histograms of sizes."""
