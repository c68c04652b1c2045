"""What came of limits, for those who read it: SARIF, JUnit's XML, and Markdown for a comment."""
