"""Defences: the guards and updates that can be taken away one by one, to see what each is for."""

from __future__ import annotations

from carnet_spec.language import Draft

DEFENCES = (
    ("direct-key", "the key is the user's and the GPU's; the CPU TEE is no end of it"),
    ("report-bound", "the user takes a report for its own key exchange only"),
    ("gpu-certificate", "the user checks the certificate chain of the report's signer"),
    ("mode-check", "the user takes a report only of confidential mode"),
    ("kernel-named", "only code that the user named runs on the user's data"),
    ("transfer-fresh", "the user uses the number of a transfer once under a key"),
    ("chunk-once", "one worker seals a chunk for each place"),
    ("tag-transfer", "the tag binds the transfer"),
    ("tag-place", "the tag binds the place of the chunk"),
    ("tag-number", "the tag binds the number of chunks"),
    ("tag-last", "the tag binds whether the chunk is the last"),
    ("transfer-once", "the GPU begins a transfer once"),
    ("one-fetch", "the GPU copies a chunk once, and verifies and decrypts that copy"),
    ("private-staging", "the GPU decrypts into memory that no kernel reads"),
    ("verify-first", "nothing is released before every tag has been verified"),
    ("whole-transfer", "nothing is released before every chunk has arrived"),
    ("answer-bound", "the user takes an answer for the transfer that it names only"),
)


def declare_defences(draft: Draft) -> None:
    """Declare every defence."""
    for id, title in DEFENCES:
        draft.defence(id, title)
