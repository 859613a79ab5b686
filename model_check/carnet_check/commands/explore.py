"""``carnet explore``: visit every state of one instance."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from carnet_check.attacks.describing import describe_attack
from carnet_check.attacks.hunt import AttackTarget, attack_target
from carnet_check.cache import open_folder, source_digest
from carnet_check.commands import common
from carnet_check.engines.checkpoints import Checkpoint
from carnet_check.engines.exploration import (
    DEFAULT_DEPTH,
    DEFAULT_SEED,
    MOST_SEED,
    Caps,
    Coverage,
    GuardCoverage,
    Search,
    WalkCoverage,
    Walks,
    premise_goals,
)
from carnet_check.engines.exploring.searches import adversary, moves, search_scope, verdict_of
from carnet_check.engines.interface import Checkpointing, Explores, InThreads
from carnet_check.engines.registry import cluster_engine, explorer, walker
from carnet_check.errors import EngineError, UsageError
from carnet_check.loading.extent import available_memory, refuse_instance, shown_memory
from carnet_check.loading.families import load
from carnet_check.loading.scope import Scope, scope_of
from carnet_check.minimise import minimise
from carnet_check.report.html import write_graph
from carnet_check.report.recording import DRAWN, state_graph
from carnet_check.results import count_verdicts, steps_as_json
from carnet_check.semantics import Interpreter
from carnet_check.verification.planning import random_walks
from carnet_command.exit_codes import ExitCode
from carnet_command.files import lock_folders
from carnet_command.interrupts import track_progress
from carnet_command.progress import progress
from carnet_command.text import plural, wrap_text
from carnet_spec.language import Profile, Protocol

# --------------------------------------------------------------------------------------------------
# Random walks in ``carnet explore``: the description of violations found on them.

SHOWN_TRACES = 2  #: The most unexpected violations that are described in full.

depth_option = click.option(
    "--depth",
    type=common.PositiveInteger(),
    metavar="D",
    help=f"Steps of a random walk at most. [default: {DEFAULT_DEPTH}]",
)


def minimise_walks(target: AttackTarget, found: Coverage) -> Coverage:
    """Return the coverage, with traces of random walks reduced to the steps that their violations need.

    Raises EngineError if the interpreter does not reproduce a violation.
    """
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
    """Yield descriptions of the first few unexpected violations."""
    protocol, threat = target.protocol, target.threat.id
    fallen = [claim for claim in found.violations if threat not in protocol.claim(claim).fails_under]
    for claim in fallen[:SHOWN_TRACES]:
        judge, trace = Interpreter(protocol, found.instance_of(claim)), found.violations[claim]
        yield f"{claim} is violated:"
        yield from describe_attack(judge, protocol.claim(claim).checked, trace, judge.replay(trace))


# -- ``carnet explore``: visit every state of one instance -----------------------------------------


seed_option = click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    metavar="S",
    help=f"Seed of random walks. [default: {DEFAULT_SEED}]",
)


@click.command(cls=common.SizedCommand)
@common.protocol_argument
@common.size_option
@common.threat_option
@click.option(
    "--variant",
    type=common.VARIANT,
    metavar="NAME",
    default="",
    help="Design to explore. [default: the first main variant]",
)
@common.start_option
@common.moves_option
@click.option("--engine", metavar="NAME", default="", help="What explores. [default: the fastest that is installed]")
@click.option("--jobs", type=common.PositiveInteger(), metavar="N", help="Threads that explore. [default: 1]")
@click.option(
    "--ray", metavar="ADDRESS", help="Explore on this Ray cluster once there are many states; 'local' starts one here."
)
@click.option("--no-reduction", is_flag=True, help="Also visit states that provably make no difference.")
@common.states_option
@common.time_option
@common.simulate_option
@depth_option
@seed_option
@common.memory_option
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep what is found in DIR after each level, and go on from what is there.",
)
@click.option(
    "--max-disk", type=common.MemoryParameter(), metavar="SIZE", help="Stop before DIR has more than this, e.g. 50GiB."
)
@click.option("--graph", type=click.Path(path_type=Path), metavar="DIR", help="Write a page with the states to DIR.")
@common.json_option
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
    graph: Path | None,
    as_json: bool,
    **options: int | None,
) -> int:
    """Visit every state of one instance of PROTOCOL and check every claim in each of them.

    Exit code 3: the search stopped before it had seen every state, at --max-states,
    --max-seconds or --max-disk, or when its memory or its disk was used up. With
    --checkpoint, the same command goes on from there.

    With --simulate N, take N random walks instead and check every claim in each state on the way: a claim that no
    walk violates is SAMPLED, which says nothing about states that no walk visits.
    """
    if simulate is None and depth is not None and seed is None:
        raise UsageError("--depth expects --simulate N: nothing else is random")
    walks = random_walks(simulate, depth, seed)
    if walks is not None and (no_reduction or any(each is not None for each in (max_states, checkpoint, max_disk))):
        told = "--no-reduction, --max-states, --checkpoint and --max-disk"
        raise UsageError(f"{told} are about visiting every state, which --simulate does not do")
    if walks is not None and graph is not None:
        raise UsageError("--graph draws every state, and --simulate does not visit every one")
    if ray is not None and (walks is not None or checkpoint is not None or jobs is not None):
        raise UsageError("--ray does not go with --simulate, --checkpoint or --jobs")
    if graph is not None:
        context.with_resource(lock_folders(graph))
    if ray is not None:
        explores = cluster_engine(ray, engine)
    else:
        explores = _in_threads(explorer(engine) if walks is None else walker(walks, engine), jobs)
    memory = available_memory() if max_memory is None else max_memory
    source = load(protocol)
    profile = common.sized_profile(source, profile_name, common.sizes_given(options, sizes), moves)
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
        (common.log if as_json else common.say)(line)
    with _keeping(explores, search, checkpoint, max_disk) as able:
        found = _explored(able, target, search, scope)
    if walks is not None:
        found = minimise_walks(target, found)
    budget = _budget(search.caps, walks, max_memory)
    drawing = {} if graph is None else _drawn(target, scope, graph)
    written = [str(folder) for folder in (checkpoint, drawing.get("written")) if folder is not None]
    closing = _closing(context, explores, target, found, budget, walks, written)
    value = {**_as_json(explores, target, found, walks), **({"graph": drawing} if drawing else {})}
    common.finish(as_json, value, [] if as_json else _lines(target, found, drawing), closing)
    return _code(target, found)


def _drawn(target: AttackTarget, scope: Scope, folder: Path) -> dict[str, Any]:
    """Write a page with the states of the first instance, if they are few enough, and say what was written."""
    (instance, _), *others = scope.instances
    graph = state_graph(target.protocol, {target.threat.id: instance})
    if graph is None:
        return {
            "written": None,
            "detail": f"not drawn: more than {DRAWN} states, too many to read; choose smaller sizes",
        }
    write_graph(graph, target.source.family.title, folder)
    which = f", of the first of {plural(len(others) + 1, 'instance')}" if others else ""
    return {
        "written": str(folder),
        "detail": f"{plural(len(graph['nodes']), 'state')} drawn, {graph['steps']}{which}",
    }


def _in_threads(explores: Explores, jobs: int | None) -> Explores:
    """Return the engine, set to explore in threads if it can."""
    if isinstance(explores, InThreads):
        return explores.with_threads(jobs or 1)
    if jobs is not None and jobs > 1:
        raise UsageError(f"the engine '{explores.name}' works in one thread; expected --jobs 1, not {jobs}")
    return explores


@contextmanager
def _keeping(explores: Explores, search: Search, folder: Path | None, most: int | None) -> Iterator[Explores]:
    """Yield the engine, with a checkpoint in ``folder``, which is locked for this command, if one is given."""
    if folder is None:
        if most is not None:
            raise UsageError("--max-disk bounds what --checkpoint keeps, which is not given")
        yield explores
        return
    if not isinstance(explores, Checkpointing):
        raise UsageError(f"the engine '{explores.name}' keeps no checkpoints")
    with lock_folders(folder):
        kept = Checkpoint(open_folder(folder, "checkpoint"), most)
        states = kept.begin(_question(explores, search, source_digest()))
        if states:
            common.log(f"going on from {states:,} states in {folder}")
        yield explores.with_checkpoint(kept)


def _question(explores: Explores, search: Search, code: str) -> dict[str, Any]:
    """Return the question of a checkpoint, with readable names of its parts."""
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


def _scope(target: AttackTarget, profile: Profile, memory: int) -> Scope:
    """Return the scope to explore, after a check that each instance fits into memory."""
    scope = scope_of(target.source, target.protocol, target.threat.id, profile, target.claims)
    for instance, _ in scope.instances:
        refuse_instance(target.protocol, instance, memory)
    return scope


def _explored(explores: Explores, target: AttackTarget, search: Search, scope: Scope) -> Coverage:
    """Run the search, and show its progress."""
    with progress() as shown, track_progress(shown) as covered:
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
    yield f"exploring {target.protocol.id}, variant {target.protocol.variant}, under {target.threat.id}"
    yield from wrap_text("instance", f"{scope.explored.words or 'one, as there are no sorts'}; {adversary(profile)}")
    if scope.explored.shortfall:
        yield from wrap_text("not met", f"profile {profile.name}: {scope.explored.shortfall}")
    if walks is not None:
        beside = len(scope.instances) - 1
        more = f"; as many in each of {plural(beside, 'other instance')}" if beside else ""
        yield from wrap_text("walks", f"{walks.description}, seed {walks.seed}{more}")
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
    """Whether every state in the scope of every claim was visited."""
    return found.complete and not found.left_out


def _as_json(explores: Explores, target: AttackTarget, found: Coverage, walks: Walks | None) -> dict[str, Any]:
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


def _lines(target: AttackTarget, found: Coverage, drawing: Mapping[str, Any]) -> Iterator[str]:
    facts = f"{found.states_per_second:,.0f} states/s, {found.peak_memory_bytes / (1 << 20):,.0f} MiB at most"
    if not found.walk_coverage:
        facts = f"{found.transitions:,} transitions, {facts}"
    beside = f", and {found.beside:,} from other first values" if found.beside and not found.walk_coverage else ""
    yield from wrap_text("covered", f"{found.description}{beside}; {facts}")
    for claim, trace in found.violations.items():
        expected = " (expected under this threat model)" if _expected(target, claim) else ""
        yield from wrap_text("VIOLATED", f"{claim} after {plural(moves(target.protocol, trace), 'step')}{expected}")
    for claim, why in found.left_out.items():
        if claim not in found.violations:
            yield from wrap_text(str(verdict_of(found, claim)[0]), f"{claim}: {why}")
    if not found.violations:
        yield from wrap_text("violations", f"none of {plural(len(target.claims), 'claim')}")
    idle = [name for name, count in found.fired.items() if not count]
    if found.walk_coverage:
        yield from walked_lines(target.protocol, found)
    elif idle:
        yield from wrap_text("never taken", ", ".join(idle))
    if target.protocol.liveness and not found.walk_coverage:
        names = ", ".join(live.name for live in target.protocol.liveness)
        yield from wrap_text("not judged", f"{names}: `carnet verify` checks what eventually happens")
    if drawing:
        yield from wrap_text("graph", drawing["detail"])
    yield ""
    if found.walk_coverage:
        yield from counterexamples(target, found)


def _closing(
    context: click.Context,
    explores: Explores,
    target: AttackTarget,
    found: Coverage,
    budget: str,
    walks: Walks | None,
    written: Sequence[str],
) -> common.Closing:
    return common.Closing(
        verdicts=count_verdicts(verdict_of(found, claim)[0] for claim in target.claims),
        outcome="every reachable state seen" if found.exhaustive and _whole(found) else found.description,
        strength=f"{explores.name}: {found.strength}",
        budget=budget,
        profile=common.profile_line(found.search.profile.name, walks),
        digests={target.protocol.variant: target.protocol.digest},
        artefacts=", ".join(written),
        rerun=common.rerun_command(context),
        seconds=found.seconds,
        versions=common.tool_versions(explores),
    )


def _budget(caps: Caps, walks: Walks | None, memory: int | None) -> str:
    states = "no cap on states" if caps.states is None else f"{caps.states:,} states"
    told = [states if walks is None else walks.description]
    told += [] if caps.seconds is None else [f"{caps.seconds:,.0f} s"]
    return ", ".join([*told, *([] if memory is None else [shown_memory(memory)])])


# --------------------------------------------------------------------------------------------------
# The coverage of random walks: in full as JSON values; as text, only counts and what was missed.


def walked_as_json(protocol: Protocol, walks: Walks, found: Coverage) -> dict[str, Any]:
    """Return the requested walks, and their coverage."""
    walked = found.walk_coverage or WalkCoverage()
    return {
        "asked": walks.number,
        "depth": walks.depth,
        "seed": walks.seed,
        "walks": walked.walks,
        "steps": walked.steps,
        "stuck": walked.stuck,
        "goals": [{"goal": name, "steps": _steps(protocol, found, name)} for name in found.search.goals],
        "premises": [
            {"claim": claim, "premise": number, "met": met} for claim, number, met in _premises(protocol, found)
        ],
        "actions": [
            {"action": name, "taken": seen.taken, "enabled": seen.enabled} for name, seen in walked.actions.items()
        ],
        "rules": [{"rule": name, "used": bool(found.fired.get(name))} for name in _rules(protocol)],
        "guards": [
            {
                "action": action,
                "guard": guard,
                **{name: getattr(seen, name) for name in GuardCoverage.__slots__},
            }
            for action, guard, seen in walked.guards
        ],
        "not_judged": _lively(protocol),
    }


def walked_lines(protocol: Protocol, found: Coverage) -> Iterator[str]:
    """Yield lines about the coverage of goals, premises, actions and guards, and about what was missed."""
    walked = found.walk_coverage or WalkCoverage()
    missed = [name for name in found.search.goals if name not in found.goals]
    yield from _coverage("goals", len(found.search.goals), "reached", missed)
    premises = list(_premises(protocol, found))
    unmet = [claim if number == 1 else f"{claim} ({number})" for claim, number, met in premises if not met]
    yield from _coverage("premises", len(premises), "met", unmet)
    yield from _coverage("actions", len(walked.actions), "taken", list(walked.idle))
    rules = _rules(protocol)
    yield from _coverage("rules", len(rules), "used", [name for name in rules if not found.fired.get(name)])
    guards = [(f"{action}: {guard}", seen) for action, guard, seen in walked.guards if not seen.decided]
    yield from _coverage("guards", len(guards), "seen to hold", [name for name, seen in guards if not seen.held])
    yield from _coverage("guards", len(guards), "seen to fail", [name for name, seen in guards if not seen.failed])
    failed = [(name, seen) for name, seen in guards if seen.failed]
    among = "that failed did so while all others held"
    yield from _coverage("guards", len(failed), among, [name for name, seen in failed if not seen.alone])
    if lively := _lively(protocol):
        yield from wrap_text(
            "not judged", f"{', '.join(lively)}: random walks end, and liveness is of runs that do not"
        )


def _coverage(what: str, many: int, how: str, missed: list[str]) -> Iterator[str]:
    """Yield the lines for how many items of one kind were covered, and which were not."""
    if many:
        rest = f"; not {', '.join(missed)}" if missed else ""
        yield from wrap_text(what, f"{many - len(missed)} of {many} {how}{rest}")


def _steps(protocol: Protocol, found: Coverage, goal: str) -> int | None:
    return moves(protocol, found.goals[goal]) if goal in found.goals else None


def _premises(protocol: Protocol, found: Coverage) -> Iterator[tuple[str, int, bool]]:
    """Yield each premise of a claim, with its number, and whether it held in some state."""
    for claim in found.search.claims:
        for number, premise in enumerate(premise_goals(protocol.claim(claim).checked), 1):
            yield claim, number, premise.name in found.goals


def _rules(protocol: Protocol) -> list[str]:
    return [action.name for action in protocol.actions if action.deduction]


def _lively(protocol: Protocol) -> list[str]:
    return [live.name for live in protocol.liveness]
