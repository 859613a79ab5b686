"""Records that are about no design: measurements, comparisons and lists, with the command that makes each anew."""

from collections.abc import Mapping

#: For each its cost in seconds on two cores, its files and a line of shell. ``faults.csv`` is written by hand.
MEASUREMENTS: Mapping[str, tuple[int, tuple[str, ...], str]] = {
    "asymml": (*(120, ("asymml/*",)), "OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.asymml_pages"),
    "audit": (*(10, ("audit/*",)), "python -m tests.benchmarks.audit_pages"),
    "coding": (*(60, ("coding/*",)), "python -m tests.benchmarks.coding_pages"),
    "neighbours": (*(120, ("neighbours/*",)), "OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.neighbours_pages"),
    "accountants": (*(60, ("privacy/accountants.csv",)), "python -m tests.benchmarks.privacy_accountants"),
    "seeded-faults": (
        *(3600, ("seeded-faults.csv",)),
        "CARNET_SEEDED_FAULTS=docs/results/seeded-faults.csv pytest -q -m slow tests/faults/test_faults.py "
        "-k 'not exported'",
    ),
    "removed-checks": (
        *(7200, ("removed-checks.csv",)),
        "python -m tests.faults.trying --out docs/results/removed-checks.csv",
    ),
    "coq-faults": (
        *(1800, ("coq-faults.csv",)),
        "CARNET_COQ_FAULTS=docs/results/coq-faults.csv pytest -q -m slow tests/faults/test_faults.py -k exported",
    ),
    "random-protocols": (
        *(7200, ("random-protocols.csv",)),
        "CARNET_RANDOM_PROTOCOLS=5000 CARNET_RANDOM_SEED=11 CARNET_RANDOM_RECORD=docs/results/random-protocols.csv "
        "pytest -q tests/property/test_verdicts_are_true.py",
    ),
    "random-searches": (
        *(1500, ("random-searches.csv",)),
        "CARNET_RANDOM_SEARCHES=1100 CARNET_SEARCHES_RECORD=docs/results/random-searches.csv "
        "pytest -q tests/property/test_searches_agree.py",
    ),
    "random-campaign": (
        *(3600, ("random-campaign.csv",)),
        "python -m tests.campaign --protocols 10000 --seed 1 --jobs 2 --e-every 4 "
        "--out docs/results/random-campaign.csv",
    ),
    "random-campaign-explorers": (
        *(720, ("random-campaign-explorers.csv",)),
        "python -m tests.campaign --protocols 10000 --seed 1 --explorers-only "
        "--out docs/results/random-campaign-explorers.csv",
    ),
    "spoilt-certificates": (
        *(600, ("spoilt-certificates.csv",)),
        "python -m tests.campaign.kernels gpu-travelling --count 10000 --out docs/results/spoilt-certificates.csv",
    ),
    "large-searches": (
        *(1800, ("large-searches.csv",)),
        "python -m tests.benchmarks.large --folder docs/_build/large --out docs/results/large-searches.csv",
    ),
    "spin": (1500, ("spin.csv",), "python -m tests.benchmarks.spin --out docs/results/spin.csv"),
    "fuzzing": (
        *(700, ("fuzzing.csv",)),
        "python -m tests.fuzz.coverage_guided --inputs 600000 --seconds 70 --table docs/results/fuzzing.csv",
    ),
    "suggestions": (2400, ("suggestions.csv",), "python -m tests.benchmarks.suggestions"),
    "datapath": (120, ("datapath/*",), "python -m tests.benchmarks.datapath_pages"),
    "evidence-amd": (60, ("evidence-amd.csv",), "python -m tests.evidence.amd_table"),
    "evidence-intel": (60, ("evidence-intel.csv", "agreement-intel.csv"), "python -m tests.evidence.intel_table"),
    "agreement-verifiers": (
        *(120, ("agreement-verifiers.csv", "agreement-differences.csv")),
        "python -m tests.evidence.verifiers_table",
    ),
    "evidence-nvidia": (60, ("evidence-nvidia.csv",), "python -m tests.evidence.nvidia_table"),
    "spdm-recordings": (30, ("spdm-recordings.csv",), "python -m tests.evidence.spdm_table"),
    "appraisal-times": (30, ("appraisal-times.csv",), "python -m tests.benchmarks.appraisals"),
}
