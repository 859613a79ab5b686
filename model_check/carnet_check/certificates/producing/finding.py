"""Finding a refutation of an obligation. What is found is for the kernel to judge."""

from __future__ import annotations

import math

from carnet_check.certificates.producing.bank import Bank
from carnet_check.certificates.producing.closing import NotFound
from carnet_check.certificates.producing.grounding import Grounding
from carnet_check.certificates.producing.instances import needed
from carnet_check.certificates.producing.tableau import Search
from carnet_check.certificates.producing.writing import steps_of
from carnet_check.kernel.checker import Obligation, Step


def found(obligation: Obligation, deadline: float = math.inf) -> list[Step]:
    """Return a refutation; give up when the process has had so much CPU time.

    Raises:
        NotFound: the search ended without one.
    """
    bank = Bank(obligation)
    grounding = Grounding(bank)
    wanted = needed(grounding, deadline)
    if wanted is None:
        raise NotFound("no instances contradict each other")
    return list(steps_of(bank, Search(bank, wanted, grounding.named).refutation()))
