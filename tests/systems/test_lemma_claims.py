"""The lemma claims that come with Carnet: each holds by every means, and what decides a case is right."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.engines.interface import JudgesLemmaClaims
from carnet_check.loading.families import load
from carnet_check.results import Kind
from carnet_check.verification.campaign import verify
from carnet_check.verification.checks import shortcomings
from carnet_check.verification.planning import Request, plan_campaign
from carnet_spec.protocols.darknight import cases
from carnet_spec.protocols.registry import registered_protocols
from carnet_spec.theories.shares import Share, dot, hides_by_rank, lagrange, leaking, learns_nothing, powers, rank

WITH_LEMMA_CLAIMS = ("asymml", "coded-private-ml", "darknight", "slalom")


def test_these_have_lemma_claims() -> None:
    families = {id: load(id).family for id in registered_protocols()}
    designs = ((id, family.protocol(variant)) for id, family in families.items() for variant in family.variants)
    assert {id for id, protocol in designs if protocol.lemma_claims} == {*WITH_LEMMA_CLAIMS}


@pytest.mark.parametrize("id", WITH_LEMMA_CLAIMS)
def test_each_holds_and_each_hypothesis_is_needed(id: str) -> None:
    campaign = plan_campaign(Request(load(id)))
    outcome = verify(campaign)
    assert outcome.exit_code == 0
    assert shortcomings(outcome) == []
    judged = {row.claim: set(row.counterexamples) for row in outcome.results if row.kind is Kind.LEMMA_CLAIM}
    for row in outcome.results:
        judged.setdefault(row.claim, set()).update(row.counterexamples)
    for claim in campaign.plans[0].protocol.lemma_claims:
        assert {name for name, _ in judged[claim.name]} == {each.name for each in claim.hypotheses}
    assert any(isinstance(engine, JudgesLemmaClaims) for engine in campaign.engines)


EXAMINED = {
    f"{id}-{claim.name}-{examination.means.value}": (claim, examination)
    for id in WITH_LEMMA_CLAIMS
    for variant in load(id).family.variants
    for claim in load(id).family.protocol(variant).lemma_claims
    for examination in claim.examinations
}


@pytest.mark.parametrize("name", EXAMINED)
def test_at_least_two_hypotheses_are_shown_necessary_by_a_case_that_breaks_one_of_them(name: str) -> None:
    """The first failing case without a hypothesis is none with all of them, and says by its values why not."""
    claim, examination = EXAMINED[name]
    whole = list(examination.cases(""))
    assert whole
    assert all(case.holds for case in whole)
    assert [case.size for case in whole] == sorted(case.size for case in whole)
    needed = [need for each in claim.examinations for need in each.needs]
    assert len(set(needed)) >= 2
    assert set(needed) == {each.name for each in claim.hypotheses}
    told = {case.words for case in whole}
    for left_out in examination.needs:
        failing = next(case for case in examination.cases(left_out) if not case.holds)
        assert failing.words not in told


@pytest.mark.parametrize("id", ["asymml", "darknight", "slalom"])
def test_what_is_first_order_is_certified(id: str) -> None:
    outcome = verify(plan_campaign(Request(load(id), engines=("kernel",))))
    assert {row.claim for row in outcome.results} == {claim.name for claim in load(id).protocol().claims}
    assert all(row.as_expected for row in outcome.results)


def test_counts_of_darknight_go_through_the_sizes_that_their_rows_name() -> None:
    """Every shape modulo each prime; all shares, but for two processors with two values of noise modulo five."""
    told = [dict(case.values) for case in cases.threshold_counted("")]
    shapes = {(each["modulus"], (each["inputs"], each["noise"])) for each in told}
    assert shapes == {*product(cases.SMALL, cases.SHAPES)}
    counted = Counter(case.size for case in cases.criterion_counted(""))
    everywhere = {modulus: modulus**2 + modulus**3 + modulus**4 for modulus in cases.SMALL}
    assert counted == {each: number + (each < 5) * each**6 for each, number in everywhere.items()}


# -- shares of a code -------------------------------------------------------------------------------------------------

PRIMES = st.sampled_from([2, 3, 5])


@st.composite
def codes(draw: st.DrawFn) -> tuple[int, list[Share]]:
    """Draw shares of up to two values of data and two of noise."""
    modulus, data, noise = draw(PRIMES), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    value = st.integers(0, modulus - 1)
    row = st.tuples(st.tuples(*[value] * data), st.tuples(*[value] * noise))
    return modulus, [Share(*each) for each in draw(st.lists(row, min_size=1, max_size=3))]


@given(codes())
def test_a_count_ranks_and_a_search_for_leaks_agree(drawn: tuple[int, list[Share]]) -> None:
    modulus, shares = drawn
    assert learns_nothing(shares, modulus) == hides_by_rank(shares, modulus) == (leaking(shares, modulus) is None)


@given(st.data())
def test_a_rank_is_the_number_of_values_that_rows_span(data: st.DataObject) -> None:
    modulus = data.draw(PRIMES)
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, modulus - 1)] * 3), min_size=1, max_size=3))
    spanned = {
        tuple(dot(factors, column) % modulus for column in zip(*rows, strict=True))
        for factors in product(range(modulus), repeat=len(rows))
    }
    assert modulus ** rank(rows, modulus) == len(spanned)


def test_a_share_at_a_node_is_the_value_there() -> None:
    """Whoever has the point of a block has the block."""
    assert lagrange(1, (0, 1, 2), 7) == (0, 1, 0)
    for points in combinations(range(7), 3):
        values = [(3 * at * at + at + 5) % 7 for at in points]
        assert all(dot(lagrange(at, points, 7), values) % 7 == (3 * at * at + at + 5) % 7 for at in range(7))


def test_low_powers_are_noise() -> None:
    assert powers(3, 2, 2, 7) == Share(data=(2, 6), noise=(1, 3))
