"""The reports of a run: its folder, HTML pages, SARIF, JUnit, Markdown and signed evidence."""
