"""``carnet exhaust``: certificates that all states of small instances were visited, checked by a program of Coq."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from carnet_check.commands.common import json_option, protocol_argument, say, threats_option, variants_option
from carnet_check.coq import program as coq_program
from carnet_check.engines.exploration import premise_goals
from carnet_check.engines.interface import ListsStates, Plan
from carnet_check.engines.registry import able
from carnet_check.errors import UsageError
from carnet_check.exports.exhaustion import require_no_budget
from carnet_check.loading.families import Source, load
from carnet_check.loading.scope import Scope, scope_of
from carnet_check.verification.planning import Request, plan_campaign
from carnet_check.wording import as_file_name
from carnet_command.errors import InterruptedRunError
from carnet_command.exit_codes import ExitCode, deciding
from carnet_command.files import require_writable_folder
from carnet_command.progress import progress
from carnet_command.text import plural
from carnet_spec.language import Goal, Instance, Invariant, Profile, Threat


@dataclass(frozen=True, slots=True)
class ExhaustionCertificate:
    """One certificate: its subject, and the program's judgement; None if the program is not built."""

    variant: str
    threat: str
    claims: int
    states: int
    bytes: int
    visited_in: float
    accepted: bool | None = None
    checked_in: float = 0.0
    folder: str = ""
    fallen: tuple[str, ...] = ()  #: the claims that are violated in some state; the certificate does not contain them.
    unexpected: tuple[str, ...] = ()  #: those of them that are expected to hold.
    #: the number of the instance among those of its variant and threat model, as in the folder's name.
    instance: int = 1

    @property
    def line(self) -> str:
        """Return one line about the certificate, for display."""
        judged = {True: f"accepted in {self.checked_in:.1f} s", False: "REFUSED", None: "not checked"}[self.accepted]
        where = f"{self.variant} · {self.threat}, instance {self.instance}"
        what = f"{where}: {plural(self.claims, 'claim')} in {plural(self.states, 'state')}"
        return f"{what}, {self.bytes:,} bytes; visited in {self.visited_in:.1f} s, {judged}{self._describe_violations}"

    @property
    def _describe_violations(self) -> str:
        expected = [name for name in self.fallen if name not in self.unexpected]
        said = (("VIOLATED", self.unexpected), ("violated as expected", expected))
        return "".join(f"; {word}: {', '.join(names)}" for word, names in said if names)

    @property
    def code(self) -> ExitCode:
        """The exit code for it: 5 if it is refused, 1 if a claim is violated, and 3 if it was not checked."""
        if self.accepted is False:
            return ExitCode.INTERNAL
        if self.unexpected:
            return ExitCode.VIOLATED
        return ExitCode.EXPECTED if self.accepted else ExitCode.UNKNOWN


@click.command()
@protocol_argument
@variants_option
@threats_option("Only under this threat model.")
@click.option("--profile", "size", default="tiny", show_default=True, metavar="NAME", help="The size of the instances.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Write into this folder.")
@json_option
def exhaust(
    protocol: str, variants: tuple[str, ...], threats: tuple[str, ...], size: str, out: Path, as_json: bool
) -> int:
    """Visit every state of PROTOCOL's instances, write the states down, and have them checked.

    A certificate holds the states of one instance under one threat model, and names the claims that hold in them. The
    program that is extracted from the Coq files checks that no step leads out of them; `make -C model_check/coq
    exhaust` builds it. Without it, certificates are written and not checked, and the exit code is 3.
    """
    require_writable_folder(out)
    source = load(protocol)
    request = Request(source, variants=variants, threats=threats, engines=(able(ListsStates).name,), profile=size)
    campaign = plan_campaign(request)
    asked = [
        (plan, threat, _scope(source, plan, threat, campaign.profile))
        for plan in campaign.plans
        for threat in plan.threats
    ]
    found: list[ExhaustionCertificate] = []
    with progress() as shown, _counting(found, out):
        for plan, threat, scope in asked:
            for each in _certified(source, plan, threat, campaign.profile, scope, out, shown.status):
                found.append(each)
                if not as_json:
                    shown.status("")
                    say(each.line)
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found], indent=2))
    return deciding([each.code for each in found] or [ExitCode.UNKNOWN])


@contextmanager
def _counting(found: Sequence[ExhaustionCertificate], out: Path) -> Iterator[None]:
    """Report how many certificates were written if the work in the block is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        said = f"{plural(len(found), 'certificate')} written into '{out}' and judged; what else is there is incomplete"
        raise InterruptedRunError(f"interrupted: {said}") from None


def _scope(source: Source, plan: Plan, threat: Threat, profile: Profile) -> Scope:
    """Return the scope in which the claims are explored."""
    scope = scope_of(source, plan.protocol, threat.id, profile, plan.claims(threat))
    if scope.explored.shortfall:
        raise UsageError(f"no certificate speaks of all of profile {profile.name}: {scope.explored.shortfall}")
    for instance, _ in scope.instances:
        require_no_budget(instance)
    return scope


def _certified(
    source: Source,
    plan: Plan,
    threat: Threat,
    profile: Profile,
    scope: Scope,
    out: Path,
    status: Callable[[str], None],
) -> Iterator[ExhaustionCertificate]:
    """Yield a certificate for each instance of the scope."""
    claims = plan.claims(threat)
    for number, (instance, some) in enumerate(scope.instances, 1):
        folder = out / as_file_name(plan.protocol.variant) / as_file_name(threat.id) / f"{number}"
        status(f"{plan.protocol.variant} · {threat.id}, instance {number} of {len(scope.instances)}")
        yield _one(source, plan, threat, profile, instance, some or claims, folder, number)


def _one(
    source: Source,
    plan: Plan,
    threat: Threat,
    profile: Profile,
    instance: Instance,
    claims: tuple[str, ...],
    folder: Path,
    number: int,
) -> ExhaustionCertificate:
    began = time.monotonic()
    invariants = [plan.protocol.claim(name).checked for name in claims]
    visited = able(ListsStates).visit_states(
        plan.protocol, instance, invariants, _sought(source, plan, profile, invariants)
    )
    fallen = tuple(name for name in claims if plan.protocol.claim(name).checked.name in visited.fallen)
    standing = [name for name in claims if name not in fallen]
    size = coq_program.write(folder, plan.protocol, instance, threat.id, standing, visited.states)
    written = time.monotonic()
    executable = coq_program.exhaust_program()
    accepted = (
        coq_program.check_exhaustion(executable, folder).accepts(visited.states.rows, standing) if executable else None
    )
    return ExhaustionCertificate(
        variant=plan.protocol.variant,
        threat=threat.id,
        claims=len(standing),
        states=visited.states.rows,
        bytes=size,
        visited_in=round(written - began, 2),
        accepted=accepted,
        checked_in=round(time.monotonic() - written, 2),
        folder=f"{folder}",
        instance=number,
        fallen=fallen,
        unexpected=tuple(name for name in fallen if not plan.expects_violation(name, threat.id)),
    )


def _sought(source: Source, plan: Plan, profile: Profile, invariants: list[Invariant]) -> list[Goal]:
    """Return the goals that `carnet verify` looks for besides the claims, so that the same states are visited."""
    near = [goal for goal in plan.protocol.goals if source.family.is_within(goal, profile)]
    return [*near, *(premise for each in invariants for premise in premise_goals(each))]
