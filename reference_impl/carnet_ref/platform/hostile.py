"""A platform that does as it likes, by script: each move says which frame it waits for, and what happens then.

Source: deck, Threat Model (the hypervisor is not trusted); DEMY (arXiv 2507.02770): requests can be omitted, repeated,
reordered, and plain semaphores forged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from carnet_ref.platform.bus import Carried, Platform
from carnet_ref.transport.frames import GPU, ORCHESTRATOR, PLATFORM, Frame, Kind


class Move(Enum):
    """What a hostile platform does with a frame."""

    DROP = "drop"
    REPLAY = "replay"
    """Deliver it, and then an earlier frame of the same path again: by default itself."""
    HOLD = "hold"
    """Keep it back until the script releases it, and deliver it then, after what came later."""
    RELEASE = "release"
    """Deliver it, and then everything that was held back."""
    FLIP = "flip"
    """Deliver it with one bit changed."""
    INJECT = "inject"
    """Deliver it, and then a frame of the platform's own making."""
    REROUTE = "reroute"
    """Route the GPU elsewhere before it is carried."""
    RESET = "reset"
    """Reset the GPU, into the mode given, before it is delivered."""
    SUBSTITUTE = "substitute"
    """Deliver another frame in its place."""
    FORGE_SEMAPHORE = "forge semaphore"
    """Deliver it, and write a plain semaphore."""


@dataclass(frozen=True, slots=True)
class Cue:
    """The ``nth`` frame, from 0, of a kind from one party to another; ``None`` stands for any."""

    kind: Kind | None = None
    source: str | None = None
    target: str | None = None
    nth: int = 0

    def matches(self, frame: Frame) -> bool:
        """Return whether the frame is of this kind, whichever it is in number."""
        wanted = ((self.kind, frame.kind), (self.source, frame.source), (self.target, frame.target))
        return all(want is None or want == found for want, found in wanted)


@dataclass(frozen=True, slots=True)
class Act:
    """One line of a script: on ``cue``, do ``move``; the other fields are what the move needs."""

    cue: Cue
    move: Move
    frame: Frame | None = None
    make: Callable[[Frame], Frame] | None = None
    earlier: int = 0
    text: str = ""


@dataclass(slots=True)
class HostilePlatform(Platform):
    """A platform with a script; frames that no act waits for are carried as an honest platform would.

    ``seen`` holds the last frames of each path, as many as the script replays from.
    """

    script: tuple[Act, ...] = ()
    seen: dict[tuple[Kind, str], deque[Frame]] = field(default_factory=dict)
    held: list[Frame] = field(default_factory=list)
    performed: list[Act] = field(default_factory=list)
    _counts: dict[Cue, int] = field(default_factory=dict)

    def carry(self, frame: Frame) -> Carried:
        """Return what is delivered when ``frame`` arrives."""
        act = self._cued(frame)
        if act is None:
            return Platform.carry(self, frame)
        self.performed.append(act)
        return self._perform(act, frame)

    def see(self, frame: Frame) -> None:
        """Take notice of a frame, and keep it for as long as it may be replayed."""
        Platform.see(self, frame)
        deepest = 1 + max((act.earlier for act in self.script), default=0)
        self.seen.setdefault((frame.kind, frame.target), deque(maxlen=deepest)).append(frame)

    def _cued(self, frame: Frame) -> Act | None:
        found = None
        for act in self.script:
            if act.cue.matches(frame):
                count = self._counts.get(act.cue, 0)
                self._counts[act.cue] = count + 1
                if count == act.cue.nth and found is None:
                    found = act
        return found

    def _perform(self, act: Act, frame: Frame) -> Carried:
        match act.move:
            case Move.DROP:
                self.see(frame)
                return Carried()
            case Move.HOLD:
                self.see(frame)
                self.held.append(frame)
                return Carried()
            case Move.FLIP:
                return Platform.carry(self, replace(frame, body=_flipped(frame.body)))
            case Move.SUBSTITUTE:
                return Platform.carry(self, _made(act, frame))
            case Move.REROUTE:
                self.mux = act.text
                return Platform.carry(self, frame)
            case Move.RESET:
                reset = Frame(PLATFORM, GPU, Kind.RESET, act.text.encode(), frame.clock)
                carried = Platform.carry(self, frame)
                return Carried((reset, *carried.frames), carried.step)
        carried = Platform.carry(self, frame)
        return Carried((*carried.frames, *self._afterwards(act, frame)), carried.step)

    def _afterwards(self, act: Act, frame: Frame) -> tuple[Frame, ...]:
        match act.move:
            case Move.REPLAY:
                path = self.seen[frame.kind, frame.target]
                return (path[max(0, len(path) - 1 - act.earlier)],)
            case Move.RELEASE:
                released, self.held = tuple(self.held), []
                return released
            case Move.FORGE_SEMAPHORE:
                return (Frame(PLATFORM, ORCHESTRATOR, Kind.SEMAPHORE, act.text.encode(), frame.clock),)
        return (_made(act, frame),)


def _made(act: Act, frame: Frame) -> Frame:
    """Return the frame that an act brings: the one it names, or one made from what is being carried."""
    if act.make is not None:
        return act.make(frame)
    return act.frame or frame


def _flipped(body: bytes) -> bytes:
    return body[:-1] + bytes([body[-1] ^ 1]) if body else b"\x01"
