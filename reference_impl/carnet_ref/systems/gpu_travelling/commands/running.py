"""The work of ``carnet run``: a request is carried out in one or several processes, and its trace checked."""

import contextlib
import json
import math
import secrets
import shlex
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from carnet_command.errors import InterruptedRunError, UsageError
from carnet_command.files import require_writable_file, same
from carnet_command.interrupts import stoppable
from carnet_command.text import plural
from carnet_ref.crypto.primitives import KEY_BYTES
from carnet_ref.journal import BESIDE, Journal, load_or_make_key
from carnet_ref.keys import ENGINES
from carnet_ref.privacy import GaussianAccountant, PrivacyParameterError
from carnet_ref.recorder import Recorder, merge_logs, write_trace
from carnet_ref.systems.gpu_travelling.commands.attested_graph import RUN_BYTES, graph_recorder, write_claims
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.names import GPU, ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.replica_group import FailoverWorld, FaultInjection, ReplicaGroup
from carnet_ref.systems.gpu_travelling.roles.orchestrator import Orchestrator
from carnet_ref.systems.verifiable_fl.recording import GraphRecorder, require_graph_folder
from carnet_ref.training import TRAINERS, trainer_named
from carnet_ref.training.private import UpdateNoise
from carnet_ref.transport.frames import Transformed
from carnet_ref.transport.node import Node, ReportsOutcome
from carnet_ref.transport.platform import Traffic, bytes_moved
from carnet_ref.transport.supervisor import InProcessNetwork, ProcessError, Supervisor

CONFORM = "carnet.conform"  #: The entry-point group of packages that judge traces.
MOST_PROCESSES = 64  #: Holders at most that are processes of their own: each takes some 60 MB.
DELTA = 1e-6  #: The δ that ε is computed for where no other is asked for.
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The options of a run."""

    holders: int
    rounds: int
    schedule: str
    trainer: str = TRAINERS[0]
    processes: bool = False
    port: int = 0
    journal: Path | None = None
    journal_key: Path | None = None
    trace: Path | None = None
    key_limit: int | None = None
    save_every: int | None = None
    hidden: int | None = None
    backups: int = 0
    mishaps: int = 0
    seed: int | None = None
    clip: float | None = None
    noise: float | None = None
    delta: float | None = None
    graph: Path | None = None
    claims: Path | None = None
    quote_steps: bool = False

    @property
    def update_noise(self) -> UpdateNoise | None:
        """The clipping and noise of updates, or None.

        Raises UsageError if only half of that is said, or the accountant can count no such release.
        """
        if self.clip is None or self.noise is None:
            if self.clip is not self.noise:
                raise UsageError("--clip bounds what --noise hides: give both, or none")
            if self.delta is not None:
                raise UsageError("--delta is of the privacy that --clip and --noise give")
            return None
        try:
            GaussianAccountant().epsilon(DELTA if self.delta is None else self.delta)
            return UpdateNoise(self.clip, self.noise)
        except PrivacyParameterError as error:
            raise UsageError(f"--clip, --noise and --delta: {error}") from None

    @property
    def deployment(self) -> Deployment:
        """The deployment of the run.

        Raises UsageError if the schedule has no copy engine for so many holders, or no machine a process for each, or
        the trainer is not installed.
        """
        if self.schedule == "engine-per-holder" and self.holders >= ENGINES:
            raise UsageError(f"engine-per-holder has engines for {ENGINES - 1} holders, not for {self.holders}")
        if self.mishaps and not self.backups:
            raise UsageError("--mishaps befall the instances of an orchestrator with --backup")
        if self.seed is not None and not self.mishaps:
            raise UsageError("--seed decides when --mishaps happen, and none are asked for")
        if self.backups and (self.processes or self.journal is not None):
            raise UsageError("--backup keeps custody in instances of one process: without --processes and --journal")
        if self.graph is None and (self.claims is not None or self.quote_steps):
            raise UsageError("--claims and --quote-steps are about the graph that --graph records")
        if self.graph is not None and (self.processes or self.backups or self.journal is not None):
            raise UsageError("--graph records a whole run of one process: without --processes, --backup and --journal")
        if self.processes and self.holders > MOST_PROCESSES:
            raise UsageError(f"expected at most {MOST_PROCESSES} holders in processes of their own, not {self.holders}")
        trainer = trainer_named(self.trainer, self.hidden)
        return Deployment(
            holder_names(self.holders),
            self.rounds,
            self.schedule,
            lease=20.0,
            patience=10.0,
            key_messages=self.key_limit,
            save_every=self.save_every or 0,
            trainer=trainer,
            noise=self.update_noise,
        )

    @property
    def announcement(self) -> str:
        """One line about what is going to happen."""
        where = "one process each" if self.processes else "one process"
        extent = f"{plural(self.rounds, 'round')} among {plural(self.holders, 'holder')}"
        standing_by = f", {plural(self.backups, 'backup')}" if self.backups else ""
        return f"{extent}, key schedule {self.schedule}, {where}{standing_by}"

    @property
    def rerun(self) -> str:
        """The command that repeats the run."""
        words = ["carnet", "run", "--holders", self.holders, "--rounds", self.rounds, "--key-schedule", self.schedule]
        words += ["--key-limit", self.key_limit] if self.key_limit is not None else []
        words += ["--save-every", self.save_every] if self.save_every else []
        words += ["--trainer", self.trainer] if self.trainer != TRAINERS[0] else []
        words += ["--hidden", self.hidden] if self.hidden is not None else []
        words += ["--processes"] if self.processes else []
        words += ["--backup", self.backups] if self.backups else []
        words += ["--mishaps", self.mishaps, "--seed", self.seed or 0] if self.mishaps else []
        words += ["--quote-steps"] if self.quote_steps else []
        given: dict[str, object] = {
            "--clip": self.clip,
            "--noise": self.noise,
            "--delta": self.delta,
            "--port": self.port or None,
            "--journal": self.journal,
            "--journal-key": self.journal_key,
            "--trace": self.trace,
            "--graph": self.graph,
            "--claims": self.claims,
        }
        words += [word for option, value in given.items() if value is not None for word in (option, value)]
        return shlex.join(map(str, words))


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a run; ``judged`` is the checker's verdict on its trace, None if no checker is installed."""

    plan: RunRequest
    judged: Mapping[str, Any]
    lines: list[str]
    losses: tuple[float, ...]
    provisioned: int
    model: str
    ledger: Sequence[Mapping[str, str]]
    lost: Sequence[str]
    carried: Traffic
    seconds: float
    appraisal: Mapping[str, Any] | None
    usage: Sequence[Mapping[str, Any]]
    backup: Mapping[str, int] | None
    attested: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the command's object."""
        counts = {name: sum(json.loads(line).get("action") in names for line in self.lines) for name, names in _COUNTED}
        return {
            "holders": self.plan.holders,
            "rounds": self.plan.rounds,
            "bytes_provisioned": self.provisioned,
            "bytes_moved": bytes_moved(self.carried.phases, _saved(self.lines)).to_json(),
            "trace": str(self.plan.trace) if self.plan.trace else None,
            "conforms": self.judged.get("conforms"),
            "threat": self.judged.get("threat"),
            "ignored": self.judged.get("ignored"),
            "loss": [loss if math.isfinite(loss) else None for loss in self.losses],
            "model": self.model,
            "kept": self.model,
            "ledger": list(self.ledger),
            "lost": list(self.lost),
            "appraisal": self.appraisal,
            "key_usage": list(self.usage),
            "backup": self.backup,
            "privacy": self.privacy,
            "attested": self.attested,
            "events": len(self.lines),
            **counts,
            "cost_of_a_handoff": self._cost(counts["handoffs"]),
        }

    @property
    def privacy(self) -> dict[str, Any] | None:
        """The differential privacy of each holder's data against everybody who has all models.

        A round that was trained again is in the ledger again, although its noise is the same: ε is no better than true.
        """
        if (noise := self.plan.update_noise) is None:
            return None
        delta = DELTA if self.plan.delta is None else self.plan.delta
        updates = Counter(line["holder"] for line in self.ledger)
        accountants = {count: GaussianAccountant().after(noise.release, count) for count in {*updates.values()}}
        epsilons = {count: accountant.epsilon(delta) for count, accountant in accountants.items()}
        told = {name: {"updates": count, "epsilon": epsilons[count]} for name, count in updates.items()}
        return {"clip": noise.bound, "noise": noise.deviation, "delta": delta, "holders": told}

    def _cost(self, handoffs: int) -> dict[str, float] | None:
        """Return what one hand-off took on the average, the set-up included."""
        if not handoffs:
            return None
        steps = sum("action" in json.loads(line) for line in self.lines)
        totals = {"steps": steps, "messages": self.carried.messages, "bytes": self.carried.octets}
        return {name: round(total / handoffs, 1) for name, total in totals.items()} | {
            "seconds": round(self.seconds / handoffs, 4)
        }


_COUNTED = (
    ("handoffs", {"grant"}),
    ("evictions", {"evict"}),
    ("sessions", {"open_session"}),
    ("keys", {"open_session", "rotate_out", "rotate_in"}),
)


def _saved(lines: Iterable[str]) -> frozenset[int]:
    """Return the journeys after which the model came home, by the clocks of their grants."""
    saved, granted = set(), 0
    for event in map(json.loads, lines):
        if event.get("action") == "grant":
            granted = event["clock"]
        elif event.get("action") == "exec_save":
            saved.add(granted)
    return frozenset(saved)


def carried_out(plan: RunRequest, say: Say) -> Result:
    """Announce a run, carry it out, and return its result. Raises CarnetError if it cannot be carried out, and why."""
    deployment = plan.deployment
    _check_files(plan, deployment)
    say(plan.announcement)
    with _stoppable(plan), tempfile.TemporaryDirectory(prefix="carnet-run-") as name:
        key, began, folder = _key(plan, deployment), time.perf_counter(), Path(name)
        path = _journal_of(plan, folder)(ORCHESTRATOR)
        with contextlib.closing(_opened(deployment, ORCHESTRATOR, path, key)) as journal:
            deployment = deployment.with_agreed_instance(journal, secrets.token_bytes)  # what the holders agree on
        graph, run = None, secrets.token_hex(RUN_BYTES)
        if plan.graph is not None:
            graph = graph_recorder(deployment, run, secrets.token_bytes, quote_steps=plan.quote_steps)
        if plan.processes:
            outcome, lines, carried = _in_processes(plan, deployment, key, folder, say)
        else:
            outcome, lines, carried = _in_one_process(plan, deployment, key, folder, say, graph)
        seconds = time.perf_counter() - began
        header = deployment.header(lines)
        if plan.trace is not None:
            write_trace(plan.trace, header, lines)
        if graph is not None and plan.graph is not None:
            graph.end()
            graph.write(plan.graph)
        if plan.claims is not None:
            write_claims(plan.claims, deployment, run, quote_steps=plan.quote_steps)
        write_trace(folder / "trace", header, lines)
        judged = _judged(folder / "trace")
        losses, books = tuple(outcome["losses"]), (outcome["ledger"], outcome["lost"])
        ends = {ORCHESTRATOR: outcome, GPU: carried.told}
        usage = [{"end": end, **use} for end, told in ends.items() for use in told.get("key_usage", ())]
        done = (outcome["provisioned"], outcome["model"], *books, carried, seconds, outcome["appraisal"], usage)
        return Result(
            plan, judged, lines, losses, *done, outcome.get("backup"), None if graph is None else len(graph.lines)
        )


def _opened(deployment: Deployment, name: str, path: Path, key: bytes) -> Journal:
    return Journal(path, key, deployment.journal_owner(name), secrets.token_bytes)


@contextlib.contextmanager
def _stoppable(plan: RunRequest) -> Iterator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does, and say what is left of the run.

    Raises InterruptedRunError if the run was stopped.
    """
    try:
        with stoppable():
            yield
    except KeyboardInterrupt:
        left = "the run is not over, and nothing of it is kept"
        if plan.journal is not None and plan.journal_key is not None:
            left = f"what was trained is in {plan.journal}, and the same command goes on from there"
        raise InterruptedRunError(f"interrupted: {left}") from None


def _judged(trace: Path) -> Mapping[str, Any]:
    """Return whether the trace is a run of the specification, and under which threat model, if a checker is there."""
    for entry in entry_points(group=CONFORM):
        judged: Mapping[str, Any] = entry.load()(trace)
        return judged
    return {}


def _check_files(plan: RunRequest, deployment: Deployment) -> None:
    """Insist that every file can be what it is to be, and that none is written over another.

    Raises UsageError if one cannot, or would be.
    """
    if plan.journal is not None and not plan.journal.name:
        raise UsageError(f"--journal needs the name of a file, which '{plan.journal}' has not")
    parties = [] if plan.journal is None else _parties(_journal_of(plan, Path()), deployment)
    journals = [path.with_name(path.name + suffix) for path in parties for suffix in BESIDE]
    for option, path in (("--trace", plan.trace), ("--journal-key", plan.journal_key)):
        if path is not None and any(same(path, journal) for journal in journals):
            raise UsageError(f"{option}: '{path}' is a journal of this run")
    if plan.trace is not None and plan.journal_key is not None and same(plan.trace, plan.journal_key):
        raise UsageError(f"--trace: '{plan.trace}' is the key of this run's journals")
    if plan.trace is not None:
        require_writable_file(plan.trace)
    if plan.graph is not None:
        require_graph_folder(plan.graph)
    if plan.claims is not None:
        require_writable_file(plan.claims)


def _parties(journal: Callable[[str], Path], deployment: Deployment) -> list[Path]:
    return [journal(name) for name in deployment.parties]


def _key(plan: RunRequest, deployment: Deployment) -> bytes:
    """Return the key that seals journals, from outside them: from its file, or for this run only."""
    if plan.journal_key is None:
        return secrets.token_bytes(KEY_BYTES)
    return load_or_make_key(
        plan.journal_key, [] if plan.journal is None else _parties(_journal_of(plan, Path()), deployment)
    )


def _journal_of(plan: RunRequest, folder: Path) -> Callable[[str], Path]:
    base = plan.journal

    def path(name: str) -> Path:
        if base is None:
            return folder / f"{name}.journal"
        return base if name == ORCHESTRATOR else base.with_name(f"{base.name}.{name}")

    return path


#: The orchestrator's last words, the steps that everybody took, and what the platform carried.
Ran = tuple[dict[str, Any], list[str], Traffic]


def _in_processes(plan: RunRequest, deployment: Deployment, key: bytes, folder: Path, say: Say) -> Ran:
    journals = _journal_of(plan, folder)
    supervisor = Supervisor(deployment, folder, journals, key, plan.port, remark=say)
    outcome = supervisor.run()
    lines = list(merge_logs(path.read_text("utf-8").splitlines() for path in sorted(folder.glob("*.ndjson"))))
    return outcome, lines, supervisor.traffic()


def _in_one_process(
    plan: RunRequest, deployment: Deployment, key: bytes, folder: Path, say: Say, graph: GraphRecorder | None
) -> Ran:
    recorder, random, path = Recorder(design=deployment.design), secrets.token_bytes, _journal_of(plan, folder)
    group = _group(plan, deployment, say) if plan.backups else None
    world = _world(deployment, recorder, group)
    attest = _unattested if graph is None else graph.record
    world.add(Node(GPU, deployment.gpu(random), recorder, remark=say, attest=attest))
    with contextlib.ExitStack() as stack:
        if isinstance(world, FailoverWorld):
            world.begin()
        for name in deployment.holders if group else deployment.parties:
            journal = _opened(deployment, name, path(name), key)
            stack.callback(journal.close)
            party = deployment.party(name, journal, random)
            node = Node(name, party, recorder, journal, say, attest)
            world.add(node, node.perform(party.begin(0.0)))
        world.run()
    ended, orchestrator = world.nodes[ORCHESTRATOR].ended, world.nodes[ORCHESTRATOR].role
    assert isinstance(orchestrator, Orchestrator)
    if ended is not None and ended.failure:
        raise ProcessError(ended.failure)
    platform = world.platform
    phases, gpu = tuple(platform.crossings.phases), world.nodes[GPU].role
    traffic = Traffic(
        platform.messages, platform.octets, phases, gpu.outcome() if isinstance(gpu, ReportsOutcome) else {}
    )
    return {**orchestrator.outcome(), "backup": group and group.tally.to_json()}, recorder.lines, traffic


def _unattested(party: str, done: Transformed) -> None:
    """Let a transformation pass: no graph was asked for."""
    del party, done


def _group(plan: RunRequest, deployment: Deployment, say: Say) -> ReplicaGroup:
    """Return the orchestrator's instances, which know what the holders agreed on before anything befalls them."""
    group = ReplicaGroup(plan.backups, secrets.token_bytes, say=say)
    group.append("instance", deployment.agreement.instance)
    group.faults = FaultInjection(plan.mishaps, plan.rounds, plan.seed or 0)
    return group


def _world(deployment: Deployment, recorder: Recorder, group: ReplicaGroup | None) -> InProcessNetwork:
    platform = deployment.platform()
    if group is None:
        return InProcessNetwork(platform, recorder)
    return FailoverWorld(platform, recorder, deployment=deployment, group=group, random=secrets.token_bytes)
