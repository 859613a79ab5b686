"""The specification language: many-sorted first-order transition systems, written as traced Python.

One import gives an author the whole language: sorts (:class:`Individual`), symbols (:func:`relation`, :func:`function`,
:func:`variable` and their rigid kin), formulas, and :class:`Draft`, which collects actions, rules, claims, lemmas,
goals, threat models and defences into a :class:`Protocol`. :class:`TwoRuns` puts two runs of a draft side by side.
"""

from __future__ import annotations

from carnet_spec.language.actions import Action, Effect, Guard, GuardKind, Step, Update
from carnet_spec.language.draft import Draft
from carnet_spec.language.errors import MisuseError, SpecificationError
from carnet_spec.language.expressions import (
    Expression,
    Formula,
    Function,
    Individual,
    Relation,
    all_of,
    any_of,
    constant,
    exists,
    false,
    flag,
    forall,
    function,
    implies,
    member,
    relation,
    rigid_flag,
    rigid_function,
    rigid_relation,
    true,
    used,
    variable,
)
from carnet_spec.language.family import Family, Finding, Profile, Scale, Service, Variant, all_sizes
from carnet_spec.language.instance import InLine, Instance, Row
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.statements import (
    Assumption,
    Axiom,
    Claim,
    Defence,
    Eventually,
    Given,
    Goal,
    Initial,
    Invariant,
    Threat,
)
from carnet_spec.language.terms import Kind, Role, Sort, Symbol, Term
from carnet_spec.language.two_runs import TwoRuns

__all__ = [
    "Action",
    "Assumption",
    "Axiom",
    "Claim",
    "Defence",
    "Draft",
    "Effect",
    "Eventually",
    "Expression",
    "Family",
    "Finding",
    "Formula",
    "Function",
    "Given",
    "Goal",
    "Guard",
    "GuardKind",
    "InLine",
    "Individual",
    "Initial",
    "Instance",
    "Invariant",
    "Kind",
    "MisuseError",
    "Profile",
    "Protocol",
    "Relation",
    "Role",
    "Row",
    "Scale",
    "Service",
    "Sort",
    "SpecificationError",
    "Step",
    "Symbol",
    "Term",
    "Threat",
    "TwoRuns",
    "Update",
    "Variant",
    "all_of",
    "all_sizes",
    "any_of",
    "constant",
    "exists",
    "false",
    "flag",
    "forall",
    "function",
    "implies",
    "member",
    "relation",
    "rigid_flag",
    "rigid_function",
    "rigid_relation",
    "true",
    "used",
    "variable",
]
