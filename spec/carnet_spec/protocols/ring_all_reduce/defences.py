"""Defences: the guards and updates that can be taken away one by one, to see what each is for."""

from __future__ import annotations

from carnet_spec.language import Draft

DEFENCES = (
    ("hop-key", "each hop has a key of its own; no rank uses the key of one hop for another"),
    ("report-bound", "a rank takes a report for its own key exchange only"),
    ("gpu-certificate", "a rank checks the certificate chain of the report's signer"),
    ("mode-check", "a rank takes a report only of confidential mode"),
    ("code-check", "a rank takes a report only of the trainer of its job"),
    ("neighbour-check", "a rank takes a report only of its neighbour's place in the ring"),
    ("iteration-once", "a rank uses the number of an iteration once under its keys"),
    ("seal-once", "a rank seals a chunk once in each phase of an iteration"),
    ("verify-first", "a rank adds or takes nothing before its tag has verified"),
    ("bound-iteration", "the tag binds the iteration"),
    ("bound-phase", "the tag binds the phase"),
    ("bound-step", "the tag binds the sub-step"),
    ("bound-chunk", "the tag binds the chunk"),
    ("add-once", "a rank adds a partial sum once for each chunk of an iteration"),
    ("wait-for-sum", "a rank passes nothing on in place of a partial sum that it did not get"),
    ("whole-iteration", "a rank finishes only when it has the sum of every chunk"),
    ("alarm-final", "a rank that raised the alarm takes no further part"),
)


def declare_defences(draft: Draft) -> None:
    """Declare every defence."""
    for id, title in DEFENCES:
        draft.defence(id, title)
