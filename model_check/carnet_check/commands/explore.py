"""``carnet explore``: visit every state of one instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_check.commands.common import (
    AtLeastOne,
    Memory,
    Sized,
    finish,
    json_option,
    log,
    memory_option,
    protocol_argument,
    say,
    seed_option,
    simulate_option,
    size_option,
    sizes_given,
    states_option,
    time_option,
)
from carnet_check.commands.completion import PROFILE, THREAT, VARIANT
from carnet_check.engines.exploration import DEFAULT_DEPTH, DEFAULT_SEED, Walks
from carnet_check.errors import UsageError
from carnet_command.exit_codes import ExitCode

if TYPE_CHECKING:
    from carnet_check.attacks.hunt import AttackTarget
    from carnet_check.engines.exploration import Caps, Coverage, Search, Walks
    from carnet_check.engines.interface import Explores
    from carnet_check.loading.families import Source
    from carnet_check.loading.scope import Scope
    from carnet_check.report.closing import Closing
    from carnet_spec.language import Profile


# --------------------------------------------------------------------------------------------------
# What ``carnet explore`` adds for random walks: how they are asked for, and what is told of violations on them.

SHOWN_TRACES = 2
"""How many unexpected violations are told in full."""

depth_option = click.option(
    "--depth", type=AtLeastOne(), metavar="D", help=f"Steps of a random walk at most. [default: {DEFAULT_DEPTH}]"
)


def walks_given(number: int | None, depth: int | None, seed: int | None) -> Walks | None:
    """Return the random walks that are asked for.

    Raises:
        UsageError: there are none that a depth or a seed would be for.
    """
    if number is not None:
        return Walks(number, DEFAULT_DEPTH if depth is None else depth, DEFAULT_SEED if seed is None else seed)
    if depth is not None or seed is not None:
        raise UsageError(f"{'--depth' if seed is None else '--seed'} expects --simulate N: nothing else is random")
    return None


def minimised(target: AttackTarget, found: Coverage) -> Coverage:
    """Return what was found, with traces of random walks cut down to the steps that their violations need.

    Raises:
        EngineError: the interpreter does not reproduce a violation.
    """
    from carnet_check.attacks.minimise import minimise
    from carnet_check.semantics import Interpreter

    parts = []
    for part in found.parts:
        judge = Interpreter(target.protocol, part.instance)
        traces = {
            claim: minimise(judge, target.protocol.claim(claim).checked, trace)
            for claim, trace in part.exploration.violations.items()
        }
        parts.append(replace(part, exploration=replace(part.exploration, violations=traces)))
    return replace(found, parts=tuple(parts))


def counterexamples(target: AttackTarget, found: Coverage) -> Iterator[str]:
    """Tell the first few violations that nobody expected."""
    from carnet_check.attacks.describing import describe_attack
    from carnet_check.semantics import Interpreter

    protocol, threat = target.protocol, target.threat.id
    fallen = [claim for claim in found.violations if threat not in protocol.claim(claim).fails_under]
    for claim in fallen[:SHOWN_TRACES]:
        judge, trace = Interpreter(protocol, found.instance_of(claim)), found.violations[claim]
        yield f"{claim} is violated:"
        yield from describe_attack(judge, protocol.claim(claim).checked, trace, judge.replay(trace))


# -- ``carnet explore``: visit every state of one instance -----------------------------------------


@click.command(cls=Sized)
@protocol_argument
@size_option
@click.option("--threat", type=THREAT, metavar="ID", default="", help="Threat model. [default: the protocol's]")
@click.option(
    "--variant", type=VARIANT, metavar="NAME", default="", help="Design to explore. [default: the first main variant]"
)
@click.option(
    "--profile",
    "profile_name",
    type=PROFILE,
    default="tiny",
    show_default=True,
    metavar="NAME",
    help="Sizes to start from.",
)
@click.option("--moves", type=click.IntRange(min=0), metavar="K", help="At most K active adversary moves.")
@click.option("--engine", metavar="NAME", default="", help="What explores. [default: the fastest that is installed]")
@click.option("--jobs", type=AtLeastOne(), metavar="N", help="Threads that explore. [default: 1]")
@click.option(
    "--ray", metavar="ADDRESS", help="Explore on this Ray cluster once there are many states; 'local' starts one here."
)
@click.option("--no-reduction", is_flag=True, help="Also visit states that provably make no difference.")
@states_option
@time_option
@simulate_option
@depth_option
@seed_option
@memory_option
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep what is found in DIR after each level, and go on from what is there.",
)
@click.option("--max-disk", type=Memory(), metavar="SIZE", help="Stop before DIR has more than this, e.g. 50GiB.")
@json_option
@click.pass_context
def explore(
    context: click.Context,
    /,
    protocol: str,
    sizes: tuple[str, ...],
    threat: str,
    variant: str,
    profile_name: str,
    moves: int | None,
    engine: str,
    jobs: int | None,
    ray: str | None,
    no_reduction: bool,
    max_states: int | None,
    max_seconds: int | None,
    simulate: int | None,
    depth: int | None,
    seed: int | None,
    max_memory: int | None,
    checkpoint: Path | None,
    max_disk: int | None,
    as_json: bool,
    **options: int | None,
) -> int:
    """Visit every state of one instance of PROTOCOL and check every claim in each of them.

    Exit code 3: the search stopped before it had seen every state, at --max-states,
    --max-seconds or --max-disk, or when its memory or its disk was used up. With
    --checkpoint, the same command goes on from there.

    With --simulate N, take N random walks instead and check every claim in each state on the way: what no walk violates
    is SAMPLED, whatever was not seen.
    """
    from carnet_check.attacks.hunt import attack_target
    from carnet_check.engines.exploration import Caps, Search
    from carnet_check.engines.registry import clustered, explorer, walker
    from carnet_check.errors import UsageError
    from carnet_check.loading.extent import available_memory
    from carnet_check.loading.families import load

    walks = walks_given(simulate, depth, seed)
    if walks is not None and (no_reduction or any(each is not None for each in (max_states, checkpoint, max_disk))):
        told = "--no-reduction, --max-states, --checkpoint and --max-disk"
        raise UsageError(f"{told} are about visiting every state, which --simulate does not do")
    if ray is not None and (walks is not None or checkpoint is not None or jobs is not None):
        raise UsageError("--ray does not go with --simulate, --checkpoint or --jobs")
    if ray is not None:
        explores = clustered(ray, engine)
    else:
        explores = _in_threads(explorer(engine) if walks is None else walker(walks, engine), jobs)
    memory = available_memory() if max_memory is None else max_memory
    source = load(protocol)
    profile = _profile(source, profile_name, sizes_given(options, sizes), moves)
    target = attack_target(source, variant=variant, threat=threat, every_claim=True)
    scope = _scope(target, profile, memory)
    search = Search(
        reference=source.reference,
        variant=target.protocol.variant,
        without=(),
        threat=target.threat.id,
        profile=profile,
        claims=target.claims,
        goals=() if walks is None else tuple(goal.name for goal in target.protocol.goals),
        caps=Caps(states=max_states, memory=memory, seconds=max_seconds),
        reduction=not no_reduction,
        digest=target.protocol.digest,
    )
    for line in _intention(target, scope, profile, walks):
        (log if as_json else say)(line)
    with _keeping(explores, search, checkpoint, max_disk) as able:
        found = _explored(able, target, search, scope)
    if walks is not None:
        found = minimised(target, found)
    budget = _budget(search.caps, walks, max_memory)
    closing = _closing(context, explores, target, found, budget, walks, checkpoint)
    value = _as_json(explores, target, found, walks)
    finish(as_json, value, [] if as_json else _lines(target, found), closing)
    return _code(target, found)


def _in_threads(explores: Explores, jobs: int | None) -> Explores:
    """Have the engine explore in threads, if it can.

    Raises:
        UsageError: it cannot, and several are asked for.
    """
    from carnet_check.engines.interface import InThreads
    from carnet_check.errors import UsageError

    if isinstance(explores, InThreads):
        return explores.in_threads(jobs or 1)
    if jobs is not None and jobs > 1:
        raise UsageError(f"the engine '{explores.name}' works in one thread; expected --jobs 1, not {jobs}")
    return explores


@contextmanager
def _keeping(explores: Explores, search: Search, folder: Path | None, most: int | None) -> Iterator[Explores]:
    """Have the engine keep what it finds in a folder that is this command's alone, if one is given.

    Raises:
        UsageError: the engine cannot, the folder is of another search or somebody else may write into it, or a bound
            is given without a folder.
    """
    from carnet_check.cache import code, opened
    from carnet_check.engines.checkpoints import Checkpoint
    from carnet_check.engines.interface import Checkpointing
    from carnet_check.errors import UsageError
    from carnet_check.report.artefacts import claimed

    if folder is None:
        if most is not None:
            raise UsageError("--max-disk bounds what --checkpoint keeps, which is not given")
        yield explores
        return
    if not isinstance(explores, Checkpointing):
        raise UsageError(f"the engine '{explores.name}' keeps no checkpoints")
    with claimed(folder):
        kept = Checkpoint(opened(folder, "checkpoint"), most)
        states = kept.begin(_question(explores, search, code()))
        if states:
            log(f"going on from {states:,} states in {folder}")
        yield explores.keeping(kept)


def _question(explores: Explores, search: Search, code: str) -> dict[str, Any]:
    """Return what a checkpoint is of, by what a reader calls it."""
    return {
        "protocol": search.reference,
        "variant": search.variant,
        "threat model": search.threat,
        "size": [search.profile.name, sorted(search.profile.scale.items()), search.profile.budget],
        "engine": explores.name,
        "reduction": search.reduction,
        "specification": search.digest,
        "version of Carnet": code,
    }


def _profile(source: Source, name: str, sizes: Mapping[str, int], moves: int | None) -> Profile:
    """Return a profile with other sizes, and with another budget if one is given."""
    from carnet_check.loading.extent import refuse_sizes

    profile = source.profile(name)
    scale = {**profile.scale, **sizes}
    refuse_sizes(scale)
    return replace(profile, scale=scale, budget=profile.budget if moves is None else moves)


def _scope(target: AttackTarget, profile: Profile, memory: int) -> Scope:
    """Return the instances to explore, each of which can be laid out."""
    from carnet_check.loading.extent import refuse_instance
    from carnet_check.loading.scope import scope_of

    scope = scope_of(target.source, target.protocol, target.threat.id, profile, target.claims)
    for instance, _ in scope.instances:
        refuse_instance(target.protocol, instance, memory)
    return scope


def _explored(explores: Explores, target: AttackTarget, search: Search, scope: Scope) -> Coverage:
    """Run the search, saying how far it is.

    Raises:
        EngineError: something is wrong with the engine or an instance.
    """
    from carnet_check.engines.exploring.searches import search_scope
    from carnet_check.errors import EngineError
    from carnet_command.interrupts import covering
    from carnet_command.progress import progress

    with progress() as shown, covering(shown) as covered:
        covered.status("laying out the instance")

        last, where = 0, ""

        def watch(states: int, depth: int) -> None:
            nonlocal last, where
            where = f", in another of {len(scope.instances)} instances" if states < last else where
            last = states
            covered.status(f"{states:,} states, depth {depth}{where}")

        found = search_scope(explores, search, target.protocol, scope, watch)
    if found.problems:
        raise EngineError("; ".join(found.problems))
    return found


def _intention(target: AttackTarget, scope: Scope, profile: Profile, walks: Walks | None) -> Iterator[str]:
    from carnet_check.engines.exploring.searches import adversary
    from carnet_command.text import counted, wrapped

    yield f"exploring {target.protocol.id}, variant {target.protocol.variant}, under {target.threat.id}"
    yield from wrapped("instance", f"{scope.explored.words or 'one, as there are no sorts'}; {adversary(profile)}")
    if scope.explored.shortfall:
        yield from wrapped("not met", f"profile {profile.name}: {scope.explored.shortfall}")
    if walks is not None:
        beside = len(scope.instances) - 1
        more = f"; as many in each of {counted(beside, 'other instance')}" if beside else ""
        yield from wrapped("walks", f"{walks.described}, seed {walks.seed}{more}")
    yield ""


def _expected(target: AttackTarget, claim: str) -> bool:
    return target.threat.id in target.protocol.claim(claim).fails_under


def _code(target: AttackTarget, found: Coverage) -> int:
    if found.stopped_by == "interrupt":
        return ExitCode.INTERRUPTED
    if any(not _expected(target, claim) for claim in found.violations):
        return ExitCode.VIOLATED
    return ExitCode.EXPECTED if found.walked_all or _whole(found) else ExitCode.UNKNOWN


def _whole(found: Coverage) -> bool:
    """Whether every state was visited of all that every claim speaks of."""
    return found.complete and not found.left_out


def _as_json(explores: Explores, target: AttackTarget, found: Coverage, walks: Walks | None) -> dict[str, Any]:
    from carnet_check.report.walked import walked_as_json
    from carnet_check.results import steps_as_json

    return {
        "protocol": target.protocol.id,
        "variant": target.protocol.variant,
        "threat": target.threat.id,
        "engine": explores.name,
        "instance": found.instances,
        "explored": found.scope.explored.as_json() if found.scope else None,
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "complete": _whole(found),
        "stopped_by": found.stopped_by or None,
        "seconds": round(found.seconds, 3),
        "states_per_second": round(found.states_per_second, 1),
        "peak_memory_bytes": found.peak_memory_bytes,
        "violations": [
            {
                "claim": claim,
                "expected": _expected(target, claim),
                "steps": steps_as_json(trace.steps),
            }
            for claim, trace in found.violations.items()
        ],
        "reduction": dict(found.reduction),
        **({"simulation": walked_as_json(target.protocol, walks, found)} if walks else {}),
    }


def _lines(target: AttackTarget, found: Coverage) -> Iterator[str]:
    from carnet_check.engines.exploring.searches import moves, verdict_of
    from carnet_check.report.walked import walked_lines
    from carnet_command.text import counted, wrapped

    facts = f"{found.states_per_second:,.0f} states/s, {found.peak_memory_bytes / (1 << 20):,.0f} MiB at most"
    if not found.walked:
        facts = f"{found.transitions:,} transitions, {facts}"
    beside = f", and {found.beside:,} from other first values" if found.beside and not found.walked else ""
    yield from wrapped("covered", f"{found.covered}{beside}; {facts}")
    for claim, trace in found.violations.items():
        expected = " (expected under this threat model)" if _expected(target, claim) else ""
        yield from wrapped("VIOLATED", f"{claim} after {counted(moves(target.protocol, trace), 'step')}{expected}")
    for claim, why in found.left_out.items():
        if claim not in found.violations:
            yield from wrapped(str(verdict_of(found, claim)[0]), f"{claim}: {why}")
    if not found.violations:
        yield from wrapped("violations", f"none of {counted(len(target.claims), 'claim')}")
    idle = [name for name, count in found.fired.items() if not count]
    if found.walked:
        yield from walked_lines(target.protocol, found)
    elif idle:
        yield from wrapped("never taken", ", ".join(idle))
    if target.protocol.liveness and not found.walked:
        names = ", ".join(live.name for live in target.protocol.liveness)
        yield from wrapped("not judged", f"{names}: `carnet verify` judges what happens in the end")
    yield ""
    if found.walked:
        yield from counterexamples(target, found)


def _closing(
    context: click.Context,
    explores: Explores,
    target: AttackTarget,
    found: Coverage,
    budget: str,
    walks: Walks | None,
    checkpoint: Path | None,
) -> Closing:
    from carnet_check.engines.exploring.searches import verdict_of
    from carnet_check.report.closing import Closing, profile_line, rerun_command, tool_versions
    from carnet_check.results import counted_by_verdict

    return Closing(
        verdicts=counted_by_verdict(verdict_of(found, claim)[0] for claim in target.claims),
        outcome="every reachable state seen" if found.exhaustive and _whole(found) else found.covered,
        strength=f"{explores.name}: {found.strength}",
        budget=budget,
        profile=profile_line(found.search.profile.name, walks),
        digests={target.protocol.variant: target.protocol.digest},
        artefacts="" if checkpoint is None else str(checkpoint),
        rerun=rerun_command(context),
        seconds=found.seconds,
        versions=tool_versions(explores),
    )


def _budget(caps: Caps, walks: Walks | None, memory: int | None) -> str:
    from carnet_check.loading.extent import shown_memory

    states = "no cap on states" if caps.states is None else f"{caps.states:,} states"
    told = [states if walks is None else walks.described]
    told += [] if caps.seconds is None else [f"{caps.seconds:,.0f} s"]
    return ", ".join([*told, *([] if memory is None else [shown_memory(memory)])])
