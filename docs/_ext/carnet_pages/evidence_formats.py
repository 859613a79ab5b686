"""The formats of evidence that ``carnet attest`` appraises, listed from their registration."""

from __future__ import annotations

from carnet_ref.attestation.formats import FORMATS, Option

from .markdown import Lines, code, page, prose, table

FORMATS_PAGE = "evidence-formats"


def evidence_formats() -> str:
    """Return the page that lists the formats, each with what can be given to its appraisal."""
    summaries = [(code(f"carnet attest {name}"), prose(each.summary)) for name, each in FORMATS.items()]
    head = "`carnet attest` appraises these formats; {doc}`../how-to/appraise-evidence` shows how."
    sections = (line for name in FORMATS for line in _section(name))
    return page("# Formats of evidence", head, table(["Command", "What it does"], summaries), sections).rstrip() + "\n"


def _section(name: str) -> Lines:
    loaded = FORMATS[name].load()
    yield from (f"## {name}", "", " ".join(loaded.help.split()), "")
    yield from table(["Option", "Followed by", "What it is"], map(_row, loaded.options))


def _row(option: Option) -> tuple[str, str, str]:
    length = f" ({option.length})" if option.length else ""
    return code(option.flag), prose(option.kind.value + length), prose(option.help)
