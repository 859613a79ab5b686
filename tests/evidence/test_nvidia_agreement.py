"""NVIDIA's own verifier and Carnet judge the same H100 evidence and mutations of it: Carnet is never laxer.

Where Carnet is stricter, the row says why. The verifier runs in an environment of its own (`nvidia_verifier_driver`).
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from carnet_ref.attestation.appraisal import Appraisal, AppraisalStep, default_anchors
from carnet_ref.attestation.nvidia.appraisal import Policy, appraise_gpu
from tests.fixtures import nvidia_verifier_driver
from tests.fixtures.nvidia_evidence import FOLDER, MISSING, SAMPLES, cases, read
from tests.fixtures.own_environment import UnavailableError, verifier_python

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.skipif(FOLDER is None, reason=MISSING)]
EVERYTHING = Policy(
    require=frozenset({"revocation", "signature", "firmware-id", "nonce", "driver-rim", "vbios-rim", "measurements"})
)
DRIVER_VERSION, VBIOS_VERSION = "550.90.07", "96.00.9F.00.01"
UNASKED = AppraisalStep("policy", False, "asked for and not taken: rim-revocation", without=("ocsp",))
"""What Carnet says against the genuine evidence; the verifier asks NVIDIA's service about these signers."""
BITS_FLIPPED = 48
END = "-----END CERTIFICATE-----\n"
STRICTER = {"OCSP replies of 19 days before": "a reply counts until nextUpdate, and the verifier does not look at it"}


@dataclass(frozen=True)
class Case:
    """One row: what was done to the evidence, and the evidence."""

    name: str
    report: bytes
    chain: bytes
    nonce: bytes
    driver_rim: bytes
    vbios_rim: bytes
    ocsp: tuple[bytes, ...]
    at: datetime

    def appraised(self) -> Appraisal:
        """Return what Carnet says."""
        return appraise_gpu(
            self.report,
            self.chain,
            at=self.at,
            policy=EVERYTHING,
            anchors=default_anchors(),
            nonce=self.nonce,
            rims=(self.driver_rim, self.vbios_rim),
            ocsp=self.ocsp,
        )

    def written(self, folder: Path, place: int) -> dict[str, object]:
        """Return the case as the driver reads it, with its RIMs in ``folder``."""
        rims = {"driver_rim": self.driver_rim, "vbios_rim": self.vbios_rim}
        for kind, data in rims.items():
            (folder / f"{place}.{kind}").write_bytes(data)
        return {
            **{kind: str(folder / f"{place}.{kind}") for kind in rims},
            "report": self.report.hex(),
            "chain": self.chain.decode(),
            "nonce": self.nonce.hex(),
            "ocsp": [reply.hex() for reply in self.ocsp],
            "at": self.at.isoformat(),
            "driver_version": DRIVER_VERSION,
            "vbios_version": VBIOS_VERSION,
        }


def _accepts(appraisal: Appraisal) -> bool:
    """Whether Carnet takes the evidence, but for the replies about the signers of reference values that nobody has."""
    return all(step.ok is not False or step == UNASKED for step in appraisal.steps)


def _genuine() -> Case:
    found = next(case for case in cases() if case.rims)
    driver, vbios = found.rims
    nonce = found.report[4:36]
    return Case("nothing", found.report, found.chain, nonce, driver, vbios, tuple(found.ocsp), found.at)


def _mutations() -> Iterator[Case]:
    good = _genuine()
    yield good
    yield from _changed_reports(good)
    yield from _changed_chains(good)
    yield from _changed_reference_values(good)
    yield replace(good, name="another nonce", nonce=bytes(32))
    yield replace(good, name="a clock before the certificates", at=datetime.fromisoformat("2021-06-01T00:00:00+00:00"))
    yield replace(good, name="a clock after the RIM signers", at=datetime.fromisoformat("2026-07-01T00:00:00+00:00"))
    yield replace(good, name="OCSP replies of 19 days before", at=good.at + timedelta(days=19))
    yield replace(good, name="an OCSP reply missing", ocsp=good.ocsp[1:])
    damaged = (good.ocsp[0][:-1] + bytes([good.ocsp[0][-1] ^ 1]), *good.ocsp[1:])
    yield replace(good, name="an OCSP reply damaged", ocsp=damaged)


def _changed_reports(good: Case) -> Iterator[Case]:
    for bit in range(3, len(good.report) * 8, len(good.report) * 8 // BITS_FLIPPED):
        changed = bytearray(good.report)
        changed[bit // 8] ^= 1 << bit % 8
        yield replace(good, name=f"bit {bit} of the report", report=bytes(changed))
    yield replace(good, name="a byte after the report", report=good.report + b"\0")
    yield replace(good, name="a report without its last byte", report=good.report[:-1])
    yield replace(good, name="half a report", report=good.report[: len(good.report) // 2])
    for case in cases():
        if "hopper_evidence" in case.name or "gpu/hopper" in case.name or "gpu/blackwell" in case.name:
            yield replace(good, name=f"the report {case.name}", report=case.report)
            yield replace(good, name=f"report and chain {case.name}", report=case.report, chain=case.chain)


def _changed_chains(good: Case) -> Iterator[Case]:
    each = [part + END for part in good.chain.decode().rstrip().removesuffix(END.rstrip()).split(END)]
    swapped = [each[0], each[2], each[1], *each[3:]]
    yield replace(good, name="two certificates swapped", chain="".join(swapped).encode())
    yield replace(good, name="a certificate left out", chain="".join([each[0], *each[2:]]).encode())
    yield replace(good, name="the leaf left out", chain="".join(each[1:]).encode())
    other = next(case for case in cases() if "test_ppcie_data.json, device 0" in case.name)
    yield replace(good, name="the chain of another device", chain=other.chain)


def _changed_reference_values(good: Case) -> Iterator[Case]:
    text = good.driver_rim.decode()
    measured = good.report[45 + 22 * 55 + 7 : 45 + 23 * 55].hex()
    assert measured in text
    yield replace(good, name="a changed value in the driver RIM", driver_rim=text.replace(measured, "0" * 96).encode())
    yield replace(
        good, name="the driver RIM of another version", driver_rim=read(f"{SAMPLES}/Driver_RIM_test_no_gpu.swidtag")
    )
    yield replace(
        good,
        name="the VBIOS RIM of another version",
        vbios_rim=read(f"{SAMPLES}/1010_0200_882_96005E0003_PROD.swidtag"),
    )
    inactive = text.replace('active="True"', 'active="False"', 1)
    yield replace(good, name="an index of the driver RIM switched off", driver_rim=inactive.encode())
    yield replace(good, name="a driver RIM without its signature", driver_rim=_unsigned(text).encode())


def _unsigned(text: str) -> str:
    start, end = text.index("<ds:Signature "), text.index("</ds:Signature>") + len("</ds:Signature>")
    return text[:start] + text[end:]


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return verifier_python()
    except UnavailableError as error:
        pytest.skip(str(error))


def test_carnet_accepts_what_nvidias_verifier_accepts_or_says_why_not(python: Path, tmp_path: Path) -> None:
    rows = list(_mutations())
    assert len(rows) > BITS_FLIPPED + 20
    asked = json.dumps([row.written(tmp_path, place) for place, row in enumerate(rows)])
    answers = tmp_path / "answers.json"
    command = [str(python), str(nvidia_verifier_driver.__file__), str(answers)]
    subprocess.run(command, input=asked, text=True, check=True, capture_output=True, cwd=tmp_path)
    theirs = json.loads(answers.read_text("utf-8"))
    ours = [row.appraised() for row in rows]
    laxer = [row.name for row, us, them in zip(rows, ours, theirs, strict=True) if _accepts(us) and not them]
    stricter = {row.name for row, us, them in zip(rows, ours, theirs, strict=True) if them and not _accepts(us)}
    assert theirs[0], "the verifier does not accept the genuine evidence, so the comparison says nothing"
    assert [step for step in ours[0].steps if step.ok is False] == [UNASKED]
    assert not laxer
    assert stricter <= set(STRICTER)
    assert "OCSP replies of 19 days before" in stricter
