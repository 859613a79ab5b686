"""The engines that Carnet runs; adding one is one line here.

An engine is imported when it is used, so ``carnet --help`` is fast. Columns and rows of all reports have this order; of
the engines that visit states, a later one is faster.
"""

import importlib
from collections.abc import Iterable
from typing import TypeVar

from carnet_check.engines.exploration import Walks
from carnet_check.engines.interface import Engine, Explores, OnCluster, Samples
from carnet_check.errors import UsageError

#: For each word of ``--engine``, the ``module:attribute`` of the engine.
ENGINES: dict[str, str] = {
    "induction": "carnet_check.engines.induction.engine:INDUCTION",
    "explicit": "carnet_check.engines.explicit.engine:EXPLICIT",
    "native": "carnet_check.engines.native.engine:NATIVE",
    "kernel": "carnet_check.engines.kernel.engine:KERNEL",
    "cvc5": "carnet_check.engines.solvers.engine:CVC5",
    "eprover": "carnet_check.engines.solvers.engine:EPROVER",
    "bmc": "carnet_check.engines.bounded.engine:BMC",
    "lemma-count": "carnet_check.engines.lemmas.engine:COUNTING",
    "lemma-calc": "carnet_check.engines.lemmas.engine:CALCULATION",
}

Able = TypeVar("Able", bound=Engine)
Visiting = TypeVar("Visiting", bound=Explores)


def registered_engines() -> tuple[Engine, ...]:
    """Return every engine, in order."""
    found = []
    for target in ENGINES.values():
        module, _, attribute = target.partition(":")
        engine = getattr(importlib.import_module(module), attribute)
        assert isinstance(engine, Engine), f"'{target}' is no engine"
        found.append(engine)
    return tuple(found)


def select_engines(names: Iterable[str]) -> tuple[Engine, ...]:
    """Return the engines called ``names``, or, without names, those that run by default; in order.

    Raises UsageError if there is no engine of this name.
    """
    wanted = set(names)
    if strange := sorted(wanted - set(ENGINES)):
        raise UsageError(f"no engine '{strange[0]}' (known: {', '.join(ENGINES)})")
    return tuple(each for each in registered_engines() if each.name in wanted) if wanted else default_engines()


def default_engines() -> tuple[Engine, ...]:
    """Return the engines that run by default; of those that visit states, only the fastest installed one."""
    willing = [each for each in registered_engines() if each.by_default]
    slower = [each for each in willing if isinstance(each, Explores) and not each.lacks][:-1]
    able = (each for each in willing if each not in slower and not (isinstance(each, Explores) and each.lacks))
    return tuple(each.as_default() for each in able)


def all_able(kind: type[Able]) -> tuple[Able, ...]:
    """Return every engine with the capability ``kind``."""
    return tuple(each for each in registered_engines() if isinstance(each, kind))


def able(kind: type[Able]) -> Able:
    """Return the first engine with the capability ``kind``."""
    return all_able(kind)[0]


def explorer(name: str = "") -> Explores:
    """Return the engine called ``name`` that visits states, or, without a name, the fastest that is installed.

    Raises UsageError if the engine visits no states, or is not installed.
    """
    return _fastest(all_able(Explores), name, "visits no states")


def walker(walks: Walks, name: str = "") -> Explores:
    """Return the engine for random walks called ``name``, or, without a name, the fastest that is installed.

    Raises UsageError if the engine takes no random walks, or is not installed.
    """
    return _fastest(all_able(Samples), name, "takes no random walks").random_walker(walks)


def cluster_engine(address: str, name: str = "") -> Explores:
    """Return the engine called ``name`` that explores on a Ray cluster, or, without a name, the fastest that does.

    Raises UsageError if the engine explores on one machine alone, or there is no cluster at the address.
    """
    return _fastest(all_able(OnCluster), name, "explores on one machine alone").on_cluster(address)


def _fastest(engines: Iterable[Visiting], name: str, otherwise: str) -> Visiting:
    every = {each.name: each for each in engines}
    if not name:
        return [each for each in every.values() if each.by_default and not each.lacks][-1]
    if name not in ENGINES and name not in every:
        raise UsageError(f"no engine '{name}' (known: {', '.join(ENGINES)})")
    if name not in every:
        raise UsageError(f"the engine '{name}' {otherwise} (those that do: {', '.join(every)})")
    if every[name].lacks:
        raise UsageError(every[name].lacks)
    return every[name]
