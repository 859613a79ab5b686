"""The deployment of a run: one GPU, one orchestrator, holders, and the simulated hardware with which they attest.

Everything that has to be the same in separate processes is derived from one seed: certificates, enrolment keys, texts.
Keys of sessions, channels and epochs are drawn at random by the party that makes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.attestation.composite import INSTANCE_BYTES
from carnet_ref.attestation.nvidia.report import DebugState
from carnet_ref.attestation.nvidia.rim import parse_rim
from carnet_ref.attestation.simulated.authority import derive_bytes, derived_key
from carnet_ref.attestation.simulated.gpu import CURRENT, OUTDATED, SimulatedGpu, SimulatedVendor
from carnet_ref.attestation.simulated.td import SimulatedPlatform, SimulatedTd
from carnet_ref.crypto.primitives import KEY_BYTES, Random
from carnet_ref.device import Mode
from carnet_ref.journal import Journal, JournalStore
from carnet_ref.keys import UsageLimits
from carnet_ref.marks import enforces
from carnet_ref.spdm.session import key_bytes
from carnet_ref.systems.gpu_travelling import evidence
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles.attestation import Agreed, Responder
from carnet_ref.systems.gpu_travelling.roles.gpu import Gpu, Hardware
from carnet_ref.systems.gpu_travelling.roles.holder import Holder, HolderSetup
from carnet_ref.systems.gpu_travelling.roles.job import EMPTY_BOOKS, Books, Checkpoint, Terms, Tools
from carnet_ref.systems.gpu_travelling.roles.orchestrator import SECURE, Orchestrator, Procedures
from carnet_ref.systems.verifiable_fl.evidence import Attester, GpuAttester, TdAttester
from carnet_ref.training import Trainer, sample_text, trainer_named
from carnet_ref.training.characters import CharacterModel
from carnet_ref.training.private import PrivateTrainer, UpdateNoise
from carnet_ref.transport.platform import Platform
from carnet_ref.wire import MalformedError, join, number
from carnet_spec.trace import Header

HOLDER_NAMES: Final = ("alice", "anna", "anton", "agnes")
#: When the simulated hardware was made, and the time that simulated verifiers appraise at.
MADE: Final = datetime(2026, 1, 1, tzinfo=UTC)
NOTHING_LATER: Final = (bytes(48),) * 4  #: RTMR0 to RTMR3 of a TD that loads nothing after its launch.
GPU_NAME: Final = "gpu1"
LEAST_SLOTS: Final = 6  #: Counter values that the orders of one epoch take.
LEAKED: Final = "sold1"  #: A genuine GPU whose device key leaked, so that its certificate is revoked.
FAKE: Final = "fake"  #: What the names of fakes begin with.
BESIDE_PAYLOAD: Final = 1 << 16  #: Bytes of a frame that carries evidence, or beside a model or a chunk, at most.


#: Settings that are JSON values as they are.
_PLAIN = (
    "holders",
    "rounds",
    "schedule",
    "chunks",
    "chunk_bytes",
    "lease",
    "patience",
    "key_messages",
    "save_every",
    "gpu_name",
)


def holder_names(count: int) -> tuple[str, ...]:
    """Return the names of the first ``count`` holders, as the specification's instances name them."""
    return (*HOLDER_NAMES, *(f"holder{number}" for number in range(len(HOLDER_NAMES) + 1, count + 1)))[:count]


def extent(lines: Iterable[str]) -> tuple[int, int]:
    """Return the number of sessions that a trace's steps open, and the largest counter value in them."""
    sessions = counted = 0
    for line in lines:
        step = json.loads(line)
        sessions += step.get("action") == "open_session"
        counted = max(counted, *(int(value) for value in step.get("args", {}).values() if value.isdecimal()), 0)
    return max(1, sessions), counted


@dataclass(frozen=True, slots=True)
class Parts:
    """The classes of which a deployment makes its roles."""

    hardware: Hardware = field(default_factory=Hardware)
    gpu_verifier: type[evidence.GpuVerifier] = evidence.GpuVerifier
    quote_verifier: type[evidence.TdVerifier] = evidence.TdVerifier
    procedures: Procedures = SECURE


@dataclass(frozen=True)
class Deployment:
    """The participants of a run, and the settings from which they are made.

    ``chunks`` of ``chunk_bytes`` each are a holder's dataset, the same at every hand-over. ``key_messages`` is how many
    messages one key may protect, if that is to be fewer than the driver's limits allow. After ``save_every`` rounds the
    model comes home even where it need not, if that is not 0. With ``noise`` only clipped and noised updates leave a
    round. ``gpu_name`` is the GPU that is plugged in, ``mode`` how
    it was booted. ``instance`` is the orchestrator that the holders agreed on; without one they agreed on the one that
    first starts with this seed.
    """

    holders: tuple[str, ...]
    rounds: int
    schedule: str = "engine-per-holder"
    chunks: int = 3
    chunk_bytes: int = 2048
    lease: float = 60.0
    patience: float = 30.0
    key_messages: int | None = None
    save_every: int = 0
    gpu_name: str = GPU_NAME
    mode: Mode = Mode.CONFIDENTIAL
    instance: bytes | None = None
    seed: bytes = b"carnet run on simulated hardware"
    trainer: Trainer = field(default_factory=CharacterModel)
    noise: UpdateNoise | None = None

    def orchestrator(
        self,
        random: Random,
        kept: Checkpoint | None = None,
        books: Books = EMPTY_BOOKS,
        resumed: bool = False,
        instance: bytes | None = None,
    ) -> Orchestrator:
        """Return the orchestrator: a new one, or one that continues from ``kept`` and ``books``."""
        verifier = self.gpu_verifier
        quoter = evidence.TdQuoter(self._td, instance or self.agreement.instance)
        tools = Tools(random, lambda: verifier.requester(random), verifier, quoter, self.trainer)
        return Orchestrator(self.terms, tools, kept, books, resumed, self.parts.procedures)

    def holder(self, name: str, random: Random, accepted: tuple[str, ...] = ()) -> Holder:
        """Return a holder that was already granted the epochs ``accepted``."""
        machine = self._machine
        verifier = self.parts.quote_verifier(machine.anchors, machine.collateral, self._measurement, lambda: MADE)
        return Holder(self.holder_setup(name), random, verifier, accepted)

    def holder_setup(self, name: str) -> HolderSetup:
        """Return the setup of a holder."""
        return HolderSetup(
            name,
            self.enrolment_key(name),
            lambda _: self.dataset(name),
            self.agreement,
            self.patience,
        )

    def gpu(self, random: Random, mode: Mode | None = None, name: str = "", shown: str = "") -> Gpu:
        """Return a GPU just after power-on: the plugged-in one, or another.

        Its reports say the mode it was booted into. One that has the device key of another GPU is ``shown`` as that.
        """
        first, name = mode or self.mode, name or self.gpu_name
        booted: list[Gpu] = []

        def responder() -> Responder:
            now = booted[0].device.mode if booted else first
            return evidence.gpu_responder(self.silicon(shown or name, now), random)

        booted.append(self.gpu_with(name, responder, first))
        return booted[0]

    def gpu_with(self, name: str, new_responder: Callable[[], Responder], mode: Mode) -> Gpu:
        """Return a GPU just after power-on, whose session ends ``new_responder`` makes."""
        return Gpu(name, self.schedule, new_responder, self.gpu_trainer, mode, self.limits, self.parts.hardware)

    @property
    def gpu_trainer(self) -> Trainer:
        """The trainer on the GPU; the key of its noise is derived from the seed."""
        if self.noise is None:
            return self.trainer
        return PrivateTrainer(self.trainer, self.noise, derive_bytes(self.seed, "noise of updates", KEY_BYTES))

    def silicon(self, name: str = GPU_NAME, mode: Mode = Mode.CONFIDENTIAL) -> SimulatedGpu:
        """Return the simulated hardware that makes a GPU's certificates and reports."""
        return SimulatedGpu(
            self.seed + name.encode(),
            MADE,
            vendor=self.forger if name.startswith(FAKE) else self.vendor,
            imitated=self.vendor,
            firmware=OUTDATED if mode is Mode.OUTDATED else CURRENT,
            mode=evidence.OPEN_MODE if mode is Mode.OPEN else 0,
            debug=DebugState.INVASIVE if mode is Mode.DEBUG else DebugState.NONE,
        )

    @cached_property
    def parts(self) -> Parts:
        """The classes of the roles' parts."""
        return Parts()

    @cached_property
    def vendor(self) -> SimulatedVendor:
        """The vendor of genuine GPUs."""
        return SimulatedVendor(self.seed, MADE)

    @cached_property
    def forger(self) -> SimulatedVendor:
        """The vendor of fake GPUs, with untrusted roots."""
        return SimulatedVendor(self.seed + FAKE.encode(), MADE)

    @cached_property
    def services(self) -> evidence.VendorServices:
        """The vendors' services: reference values and OCSP replies."""
        revoked = frozenset(self.silicon(LEAKED).certificates[1:2])

        def answers(chain: tuple[x509.Certificate, ...]) -> tuple[bytes, ...]:
            own = chain[-1] == self.forger.devices[0].certificate
            return (self.forger if own else self.vendor).answers(chain, revoked)

        return evidence.VendorServices(self.vendor.reference_values, answers)

    def dataset(self, holder: str) -> tuple[bytes, ...]:
        """Return the chunks that are the holder's dataset."""
        text = sample_text(holder, self.chunks * self.chunk_bytes)
        return tuple(text[start : start + self.chunk_bytes] for start in range(0, len(text), self.chunk_bytes))

    def enrolment_key(self, holder: str) -> ec.EllipticCurvePrivateKey:
        """Return the key that the holder is enrolled with."""
        return derived_key(self.seed, f"enrolment of {holder}", ec.SECP384R1())

    def orchestrator_from(self, journal: JournalStore, random: Random) -> Orchestrator:
        """Return the orchestrator that continues from its journal.

        Raises MalformedError if the journal says something that no orchestrator wrote.
        """
        saved, resumed = journal.last("saved"), journal.last("session") is not None
        kept = Checkpoint.first(self.trainer.first_model()) if saved is None else Checkpoint.parse(saved)
        books = Books.of(journal.all("ledger"), journal.all("returned"), journal.all("lost"), kept)
        return self.orchestrator(random, kept, books, resumed, self._instance_in(journal, random))

    def with_agreed_instance(self, journal: Journal, random: Random) -> Deployment:
        """Return the deployment whose holders agree on the orchestrator instance of this journal.

        This stands for a step outside of the protocol: they ask the instance that they start for its identity. An
        older journal, or a copy of one, starts the same instance again, and this is not detected. Holders also agree
        that one instance at a time has the key of an orchestrator's journals. Raises MalformedError if the journal
        has content that no orchestrator wrote.
        """
        if journal.last("instance") is None:
            journal.append("instance", random(INSTANCE_BYTES))
        return replace(self, instance=self._instance_in(journal, random))

    def _instance_in(self, journal: JournalStore, random: Random) -> bytes:
        """Return which instance a journal is of; one that starts without a journal is another than was agreed on."""
        kept = journal.last("instance")
        if kept is None:
            kept = self.agreement.instance if self.instance is None else random(INSTANCE_BYTES)
            journal.append("instance", kept)
        if len(kept) != INSTANCE_BYTES:
            raise MalformedError("journal", f"an instance of {INSTANCE_BYTES} bytes", f"{len(kept)}")
        return kept

    def holder_from(self, journal: Journal, name: str, random: Random) -> Holder:
        """Return the holder that continues from its journal: it knows every epoch that it was granted."""
        return self.holder(name, random, tuple(each.decode("utf-8") for each in journal.all("accepted")))

    def journal_owner(self, name: str) -> bytes:
        """Return the context that a party's journal is bound to: job, party and noise."""
        noise = () if self.noise is None else (repr(self.noise).encode("utf-8"),)
        return join(self.terms.manifest(self.trainer).encode(), number(self.rounds), name.encode("utf-8"), *noise)

    # -- for audits --------------------------------------------------------------------------------

    @cached_property
    def attesters(self) -> Mapping[str, Attester]:
        """The hardware that attests the steps of each party: TDs, and the GPU."""
        silicon = self.silicon(self.gpu_name, self.mode)
        rims = self.services.reference_values(CURRENT)
        chains = (silicon.certificates, *(parse_rim(rim).certificates for rim in rims))
        replies = tuple(reply for chain in chains for reply in self.services.answers(chain))
        holders = {name: TdAttester(self._machine.td(self._holder_measurement)) for name in self.holders}
        return {ORCHESTRATOR: TdAttester(self._td), **holders, GPU: GpuAttester(silicon, rims, replies)}

    @property
    def measurements(self) -> Mapping[str, str]:
        """The expected measurements in each party's evidence, in the format of a claims file."""
        images = {ORCHESTRATOR: self._measurement, **dict.fromkeys(self.holders, self._holder_measurement)}
        tds = {name: " ".join(each.hex() for each in (image, *NOTHING_LATER)) for name, image in images.items()}
        return {**tds, GPU: f"{CURRENT.driver} {CURRENT.vbios}"}

    @property
    def roots(self) -> tuple[x509.Certificate, ...]:
        """The root certificates of all evidence."""
        trusted = (self._machine.anchors, self.vendor.anchors)
        return tuple(dict.fromkeys(each for anchors in trusted for row in anchors.by_role.values() for each in row))

    # -- for the transport -------------------------------------------------------------------------

    maker: ClassVar[str] = f"{__name__}:Deployment.of"
    leader: ClassVar[str] = ORCHESTRATOR
    device: ClassVar[str] = GPU

    @property
    def parties(self) -> tuple[str, ...]:
        """The names of the orchestrator and all holders."""
        return (ORCHESTRATOR, *self.holders)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings from which :meth:`of` makes the same deployment."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        instance = None if self.instance is None else self.instance.hex()
        plain |= {"mode": self.mode.value, "instance": instance}
        noise = None if self.noise is None else [self.noise.bound, self.noise.deviation]
        return {**plain, "trainer": self.trainer.name, "hidden": self.trainer.hidden, "noise": noise}

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Deployment:
        """Return the deployment with these settings."""
        return cls(**cls.arguments(settings))

    @classmethod
    def arguments(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the constructor arguments for these settings."""
        plain = {name: settings[name] for name in _PLAIN}
        instance = settings["instance"]
        made = {"mode": Mode(settings["mode"]), "instance": None if instance is None else bytes.fromhex(instance)}
        noise = None if settings["noise"] is None else UpdateNoise(*settings["noise"])
        trainer = trainer_named(settings["trainer"], settings["hidden"])
        return {**plain, **made, "holders": tuple(settings["holders"]), "trainer": trainer, "noise": noise}

    @enforces("REQ-PLATFORM-01")
    def platform(self) -> Platform:
        """Return the platform, which at first routes the GPU to the orchestrator."""
        return Platform(ORCHESTRATOR, GPU)

    def device_role(self, random: Random) -> Gpu:
        """Return the GPU."""
        return self.gpu(random)

    def party(self, name: str, journal: Journal, random: Random) -> Orchestrator | Holder:
        """Return the orchestrator or a holder, continuing from its journal."""
        if name == ORCHESTRATOR:
            return self.orchestrator_from(journal, random)
        return self.holder_from(journal, name, random)

    @property
    def design(self) -> str:
        """The digest of the design, the first entry of every party's log."""
        return self.header().design

    def header(self, lines: Iterable[str] = ()) -> Header:
        """Return the header of a trace with these lines; it names no threat model."""
        sessions, counted = extent(lines)
        sizes = {
            "holders": len(self.holders),
            "corrupt": 0,
            "chunks": self.chunks,
            "rounds": self.rounds,
            "sessions": sessions,
            "slots": max(LEAST_SLOTS, counted + 2),
        }
        return Header("gpu-travelling", self.schedule, self.removed_defences, "", tuple(sizes.items()), checked=True)

    @property
    def removed_defences(self) -> tuple[str, ...]:
        """The defences of the specification that the design lacks: none."""
        return ()

    @property
    def largest_frame(self) -> int:
        """The largest size of a frame in bytes: the model or a chunk, with room for evidence, names and tags."""
        return BESIDE_PAYLOAD + max(len(self.trainer.first_model()), self.chunk_bytes)

    @cached_property
    def terms(self) -> Terms:
        """The terms of the job."""
        enrolled = {name: self.enrolment_key(name).public_key() for name in self.holders}
        return Terms(
            self.holders,
            self.rounds,
            self.schedule,
            enrolled,
            self.lease,
            self.patience,
            save_every=self.save_every,
            limits=self.limits,
        )

    @cached_property
    def agreement(self) -> Agreed:
        """What the holders agreed on: the manifest and the orchestrator instance."""
        manifest = self.terms.manifest(self.trainer).encode()
        return Agreed(manifest, self.instance or derive_bytes(self.seed, "first instance", INSTANCE_BYTES))

    @property
    def limits(self) -> UsageLimits:
        """The usage limits of link keys."""
        messages = self.key_messages
        return UsageLimits.for_advantage() if messages is None else UsageLimits.for_messages(messages)

    @cached_property
    def gpu_verifier(self) -> evidence.GpuVerifier:
        """The verifier of GPU evidence, for the orchestrator."""
        names = {key_bytes(self.silicon(name).key.public_key()): name for name in (GPU_NAME, LEAKED)}
        return self.parts.gpu_verifier(self.vendor.anchors, lambda: MADE, names, self.services, CURRENT)

    @cached_property
    def _machine(self) -> SimulatedPlatform:
        return SimulatedPlatform(self.seed, MADE)

    @property
    def _measurement(self) -> bytes:
        return derive_bytes(self.seed, "orchestrator image", 48)

    @property
    def _holder_measurement(self) -> bytes:
        return derive_bytes(self.seed, "holder image", 48)

    @cached_property
    def _td(self) -> SimulatedTd:
        return self._machine.td(self._measurement)
