"""Explicit-state search at the machine's speed: the answers of the explicit engine's memos, as tables for a kernel.

The kernel is one for all protocols, so nothing is compiled for a protocol, and what is compiled once on a machine stays
on its disk. Decided in docs/adr/0028-a-kernel-that-looks-answers-up.md.
"""
