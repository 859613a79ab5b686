"""What a run leaves for people and machines: its folder, pages, SARIF, JUnit, Markdown and signed evidence."""
