"""What a run tells people and machines: console text, progress, artefacts, JUnit."""
