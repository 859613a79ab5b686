"""The engine that believes no solver: it re-checks the certificates that lie beside a specification."""
