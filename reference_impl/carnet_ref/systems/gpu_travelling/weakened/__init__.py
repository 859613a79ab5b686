"""Weakened designs: the steps that a role takes where the specification lacks a defence; no role knows of them."""
