"""An exclave: it runs steps, and logs the digests of their inputs and outputs in signed statements."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto.primitives import sha384, sign_p256
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.verifiable_fl.evidence import KEY, Attester, Introduction, point_of, step_binding
from carnet_ref.systems.verifiable_fl.statements import (
    NO_PREDECESSOR,
    Artifact,
    Input,
    StepStatement,
    encode_envelope,
    envelope_digest,
    last_statement,
    pae,
)

#: What a step runs: from what it reads to what it gives, each by name.
Program = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]


class ExclaveError(Exception):
    """An exclave refuses a step."""


@dataclass(slots=True)
class Exclave:
    """One launch of an exclave, for one run."""

    name: str  #: what its statements call it.
    run: str  #: the run, 32 bytes in hexadecimal.
    attester: Attester | None  #: the hardware below it; without one, nobody but its owner speaks for its key.
    key: ec.EllipticCurvePrivateKey | None  #: the key that signs; without one, each step has evidence of its own.
    checks: Checks = EVERY  #: what it insists on.
    _number: int = 0
    _predecessor: str = NO_PREDECESSOR
    _ended: bool = False
    _introduction: Introduction | None = field(default=None, repr=False)

    @property
    @enforces("REQ-EXCLAVE-01")
    def introduction(self) -> Introduction:
        """The exclave's introduction; its evidence is made once."""
        if self._introduction is None:
            kind, files = (KEY, {}) if self.attester is None else (self.attester.kind, self.attester.endorsements)
            point = b"" if self.key is None else point_of(self.key)
            shown = Introduction(self.name, kind, self.run, point, endorsements=files)
            if self.attester is not None:
                evidence = self.attester.evidence(shown.binding)
                shown = Introduction(self.name, kind, self.run, point, evidence, files)
            self._introduction = shown
        return self._introduction

    @property
    @enforces("REQ-KEY-01", "key-in-hardware")
    def memory(self) -> tuple[int, str, ec.EllipticCurvePrivateKey | None]:
        """The exclave's whole state, which may leak: length and last digest of its log, and its key if any."""
        return self._number, self._predecessor, self.key

    @enforces("REQ-STEP-02", "CLAIM-INPUTS-TOLD", "digest-inside")
    def perform(
        self, task: str, epoch: str, code: bytes, program: Program, reads: Mapping[str, tuple[bytes, str]]
    ) -> tuple[Mapping[str, bytes], bytes]:
        """Run a step, and return its outputs and its envelope.

        What is digested is what the program gets, and what it returns. ``reads`` has bytes and the proof, or nothing in
        its place, by name.
        """
        inputs = tuple(Input(name, sha384(data).hex(), proof) for name, (data, proof) in reads.items())
        given = program({name: data for name, (data, _) in reads.items()})
        gives = tuple(Artifact(name, sha384(data).hex()) for name, data in given.items())
        return given, self.attest(task, epoch, sha384(code).hex(), inputs, gives)

    @enforces("REQ-STEP-01", "REQ-STEP-04", "log-grows")
    def attest(self, task: str, epoch: str, code: str, reads: tuple[Input, ...], gives: tuple[Artifact, ...]) -> bytes:
        """Return the envelope of a step that was just performed: the next statement of the log.

        Raises ExclaveError if its log has ended.
        """
        if self._ended and self.checks.insist_on("end-final"):
            raise ExclaveError(f"the log of {self.name} has ended")
        predecessor = self._predecessor
        statement = StepStatement(self.name, task, self.run, epoch, code, reads, gives, self._number, predecessor)
        line = self._signed(statement.encode())
        self._number, self._predecessor = self._number + 1, envelope_digest(line)
        return line

    @enforces("REQ-STEP-05", "end-final")
    def end(self) -> bytes:
        """Return the last statement of the log."""
        last = last_statement(self.name, self.run, self._number, self._predecessor)
        line = self.attest(last.task, last.epoch, last.code, last.reads, last.gives)
        self._ended = True
        return line

    def _signed(self, payload: bytes) -> bytes:
        """Sign with the key, or have the hardware vouch for this one statement."""
        signed = pae(payload)
        if self.key is not None:
            return encode_envelope(payload, self.introduction.keyid, sign_p256(self.key, signed))
        if self.attester is None:
            raise ExclaveError(f"{self.name} has neither a key nor hardware that vouches for it")
        return encode_envelope(payload, self.introduction.keyid, self.attester.evidence(step_binding(signed)))
