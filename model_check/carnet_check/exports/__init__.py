"""Writers of protocols, obligations and traces in the languages of other tools; they need no engine."""
