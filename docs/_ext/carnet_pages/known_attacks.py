"""Attacks that others described or that follow from what they describe, and the replays that carry them out."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class KnownAttack:
    """An attack in a sentence, where it comes from, and the attack in the record that is an example of it."""

    title: str
    source: str
    replay: str


_DECK: Final = "GPU Travelling (slides)"
_DRIVER: Final = "open-gpu-kernel-modules 595.45.04"
_BRANCHES: Final = "open-gpu-kernel-modules 595.45.04, conf_compute_keystore_gh100.c: one key to an engine"
_DEMY: Final = "arXiv 2507.02770"
_NONCE_REUSE: Final = "RFC 5116, section 5.1.1"

#: Known attacks; all of them are in the record.
CATALOGUE: Final = (
    KnownAttack(
        "The last holder computes the next holder's key",
        f"{_DRIVER}, conf_compute_keystore_gh100.c: HKDF of the previous key",
        "finding-1",
    ),
    KnownAttack("The key is not rotated before travelling", f"{_DECK}, Next one", "without-rotation-out-data"),
    KnownAttack(
        "A party that has the key works the IV mask out of a tag",
        "NIST SP 800-38D, sections 6.3 to 7.1",
        "finding-7",
    ),
    KnownAttack(
        "The orchestrator's own orders go under the pair that is lent",
        f"{_DRIVER}, conf_compute_keystore_gh100.c: a pair for each copy engine",
        "without-rotation-in",
    ),
    KnownAttack(
        "The whole bundle is lent, and training traffic and read-backs with it",
        f"{_DRIVER}, cc_drv.h: both directions in one bundle",
        "finding-7",
    ),
    KnownAttack(
        "The session's export master is in foreign hands, and every key with it",
        f"{_DRIVER}, conf_compute_keystore_gh100.c",
        "without-mode-check-data",
    ),
    KnownAttack("Two writers count from the same value under one key", _NONCE_REUSE, "finding-5"),
    KnownAttack(
        "A sender's counter is set back, as by a restored snapshot", _NONCE_REUSE, "without-sender-iv-monotonic"
    ),
    KnownAttack("Half of a rotation is omitted: counters restart, the key stays", _DEMY, "finding-12"),
    KnownAttack(
        "A recorded chunk is delivered again under the same key",
        f"{_DRIVER}, uvm_hopper_ce.c: implicit IV",
        "without-gpu-implicit-iv",
    ),
    KnownAttack("A recorded chunk is delivered when its epoch is over", f"{_DECK}, Next one", "without-rotation-ack"),
    KnownAttack(
        "A copy engine is loaded again and takes an earlier key back",
        f"{_DRIVER}, conf_compute_gh100.c (feasibility not established)",
        "without-no-engine-reload",
    ),
    KnownAttack("A holder writes after it gave the GPU back", f"{_DECK}, Training", "finding-2"),
    KnownAttack(
        "The check of code and model comes before the last write",
        f"{_DECK}, Epilogue",
        "without-rotation-before-check-data",
    ),
    KnownAttack(
        "Code planted by a holder waits for the next one",
        f"{_DECK}, Outlook",
        "without-code-reupload-code-read-back-data",
    ),
    KnownAttack("A request of the driver is omitted: no scrub happens", _DEMY, "without-scrub-ack-data"),
    KnownAttack(
        "The platform sets the scrub's semaphore itself", f"{_DEMY}: semaphores in unprotected memory", "finding-6"
    ),
    KnownAttack(
        "Residue outside the dataset buffer is read by the next holder",
        "LeftoverLocals, CVE-2023-4969",
        "finding-4",
    ),
    KnownAttack("The model is overwritten although its address is hidden", f"{_DECK}, Outlook", "finding-18"),
    KnownAttack("The last holder's data is read out of the buffer", f"{_DECK}, Epilogue", "without-scrub-buffer-data"),
    KnownAttack("A fake GPU is plugged in", f"{_DECK}, Security Analysis", "without-gpu-certificate-data"),
    KnownAttack(
        "Another genuine GPU's report is shown",
        "Parno, Bootstrapping Trust in a Trusted Platform (HotSec 2008): the cuckoo attack",
        "finding-8",
    ),
    KnownAttack("The GPU is attested, reset, and attached again", f"{_DRIVER}, kernel_gsp_gh100.c", "finding-9"),
    KnownAttack(
        "A fake signs with the device key of a genuine GPU",
        "nvtrust, OCSP: certificates of devices are revoked",
        "finding-16",
    ),
    KnownAttack("The GPU is debugged", "DMTF DSP0274 1.2.1: device mode", "without-debug-check-data"),
    KnownAttack(
        "The GPU runs older firmware, which has a known flaw",
        "nvtrust, RIM: reference values of a version",
        "without-reference-values-data",
    ),
    KnownAttack(
        "A second instance of the orchestrator is started on the same manifest",
        "Carnet: the owner of the machine can start the same image with the same manifest twice",
        "finding-17",
    ),
    KnownAttack("The GPU is out of confidential mode", "nvtrust: mode flags of the report", "without-mode-check-data"),
    KnownAttack(
        "Somebody else plays the orchestrator", f"{_DECK}, Security Analysis", "without-orchestrator-quote-data"
    ),
    KnownAttack(
        "A genuine quote is relayed into another channel",
        "Sardar et al., Identity Crisis: diversion and relay",
        "finding-10",
    ),
    KnownAttack("A genuine instance runs another job", f"{_DECK}, Security Analysis", "finding-10-manifest"),
    KnownAttack("Somebody else takes a holder's turn", f"{_DECK}, Security Analysis", "without-enrolment-check"),
    KnownAttack("A holder keeps the GPU past its lease", f"{_DECK}, How it works", "without-lease"),
    KnownAttack(
        "The launch key is lent, and outlives every rotation",
        f"{_DRIVER}, cc_keystore.h: cpu_sec2_hmac_user",
        "without-launch-key-kept",
    ),
    KnownAttack("A fence comes before the rotation, and proves nothing", f"{_DECK}, Epilogue", "finding-3"),
    KnownAttack("An engine stays open when its holder has returned the GPU", f"{_DECK}, Next one", "finding-11"),
    KnownAttack(
        "A new session erases the buffer, so the way in is a ratchet again",
        f"{_DRIVER}, conf_compute_keystore_gh100.c",
        "variant-reset",
    ),
    KnownAttack(
        "A kernel left on the GPU has the copy engine make reports",
        f"{_DRIVER}: work reaches a copy engine from device memory, and needs no key",
        "finding-13",
    ),
    KnownAttack(
        "A party that has the link gives the GPU's orders first",
        f"{_DRIVER}: no order on the link says who gave it",
        "finding-14",
    ),
    KnownAttack("A retired engine's key leaks before the engine is lent again", _BRANCHES, "finding-15"),
    KnownAttack(
        "Counters begin again under an engine's key", f"{_NONCE_REUSE}; {_BRANCHES}", "without-channel-counter"
    ),
    KnownAttack(
        "A holder falls after its epoch, and is lent the same engine again",
        f"Carnet (late corruption); {_BRANCHES}",
        "variant-late-corruption-engine",
    ),
    KnownAttack(
        "The model is put back to an older version",
        "Carnet (a rolled-back model, a skipped holder)",
        "without-model-read-back-participation",
    ),
    KnownAttack(
        "A holder is told another place for its data",
        "Carnet (an address that nobody vouches for)",
        "without-address-in-grant",
    ),
    KnownAttack(
        "Two messages under one IV give a third its tag",
        "NIST SP 800-38D, appendix A: an IV used twice gives the hash key away",
        "without-channel-counter-home",
    ),
    KnownAttack("Planted code outlives the upload of code", f"{_DECK}, Epilogue", "without-code-read-back"),
)


@dataclass(frozen=True, slots=True)
class UnreplayedDesign:
    """A design, or a defence without which it falls, whose attack stays abstract, and why."""

    name: str
    why: str


#: What is not carried out with real bytes.
UNREPLAYED: Final = (
    UnreplayedDesign(
        "chunks-pinned", "holders here are never rolled back (A15), and nobody confirms a chunk before it is sent"
    ),
    UnreplayedDesign(
        "rolled-back-holder",
        "that no VM is restored is assumed (A15): nothing here would stop the script, so there is no run to compare",
    ),
    UnreplayedDesign("erase-after-return", "a holder here has no key after its return, and no switch to keep one"),
    UnreplayedDesign("channel-update", "a channel here lasts as long as a holder runs, and its keys are never kept"),
    UnreplayedDesign("retire-before-open", "one order here retires an engine and opens the next"),
    UnreplayedDesign("whole-hand-over", "the backup orchestrator is a pattern, and has no replication here"),
    UnreplayedDesign("key-usage-limit", "a key's limit is counted in tests of its own: no replay sends that much"),
    UnreplayedDesign("attestation-age", "a replay has one clock, which ends leases and makes no evidence old"),
    UnreplayedDesign(
        "wrapped-under-old", "orders to rotate go inside the session here, whose records no link key opens"
    ),
)
