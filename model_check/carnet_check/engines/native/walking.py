"""The same random walks as the explicit engine's, step by step, by compiled code once there are many steps.

They begin in Python, which is enough for a few. A walk is its state and the state of its random generator, so either
side can continue it. Compiled code notes the questions that the memos of actions have not answered yet, so that Python
counts how often guards held. It leaves a step that writes a place without bits to Python.
"""

from __future__ import annotations

import ctypes

import numpy as np

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.queries import Draw
from carnet_check.engines.explicit.search import expander
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.exploration import Walks
from carnet_check.engines.native.compiling import seconds_compiling
from carnet_check.engines.native.lowering import WORD, Lowering
from carnet_check.engines.native.machine import Machine, ModelCode, Words, first_width, row_of
from carnet_check.engines.native.search import LOOKED_AHEAD, MOST_HERE, KnownCode, look_ahead
from carnet_spec.language import Row

HAND_OVER_AT = 100_000  #: The number of steps before the model is compiled, which takes some seconds.
STEPS_AT_ONCE = 1 << 17  #: The number of steps between two checks of the bounds.
#: The most questions noted at once beside those of one state, and the size of the table of questions noted before.
QUESTIONS, ASKED = 1 << 10, 1 << 20
#: The counts of walks that Python and compiled code exchange.
COUNTED = ("number", "taken", "steps", "longest", "stuck")
GO_ON, SIGHTED, ASK, LEFT, OVER = range(5)  #: Why compiled code returns: as in runtime.c.


class Course(ctypes.Structure):
    """The progress of walks, and the questions to memos: as in runtime.c."""

    _fields_ = (
        ("start", ctypes.c_void_p),
        ("state", ctypes.c_void_p),
        *((name, ctypes.c_uint64) for name in ("chance", "number", "taken", "steps", "longest", "stuck")),
        *((name, ctypes.c_uint64) for name in ("walks", "depth", "seed")),
        ("rank", ctypes.c_void_p),
        ("reads", ctypes.c_void_p),
        ("memos", ctypes.c_uint64),
        ("asked", ctypes.c_void_p),
        ("places", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
        ("fresh", ctypes.c_void_p),
        ("fresh_count", ctypes.c_uint64),
        ("fresh_room", ctypes.c_uint64),
        ("seen", ctypes.c_void_p),
        ("offered", ctypes.c_void_p),
    )


class NativeWalks(PackedWalks):
    """Random walks from the initial states."""

    def __init__(self, model: Model, watch: Watch, walks: Walks, *, hand_over_at: int = HAND_OVER_AT) -> None:
        super().__init__(model, watch, walks)
        self._hand_over_at = hand_over_at
        self._known = KnownCode(model, 0)
        self._compiled: CompiledCourse | None = None
        self._taken_here = 0

    def _go_on(self) -> None:
        if self._compiled is None or self._taken_here >= MOST_HERE:
            code = self._known.code() if self.number == self.steps == 0 else None
            if code is None and self.steps >= self._hand_over_at:
                code = self._written()
            if code is None:
                super()._go_on()
                return
            self._compiled, self._taken_here = self._begun(code), 0
        why = self._compiled.go_on(self)
        if why == SIGHTED:
            self._look()
        elif why == LEFT:
            self._take_step()
            self._taken_here += 1

    def _written(self) -> ModelCode:
        look_ahead(
            self.model,
            [expander(self.model, step, lambda _: None) for step in self.model.steps],
            self.sample,
            LOOKED_AHEAD,
        )
        lowered = Lowering.of(self.model, self.sample)
        return ModelCode.of(lowered, first_width(lowered.words), 0, quick=True)

    def _begun(self, code: ModelCode) -> CompiledCourse:
        seconds_compiling()
        compiled = CompiledCourse(Machine(code, None, 1), self)
        self.watch.leave_out(seconds_compiling())
        self._known.keep(code)
        return compiled


class CompiledCourse:
    """Continues walks by compiled code, and writes their progress back."""

    def __init__(self, machine: Machine, walks: PackedWalks) -> None:
        self._machine, words, memos = machine, machine.words, walks.offers.memos
        self._offer_of = [_offer_of(walks, name, row) for name, row in machine.steps]
        places = sorted(range(len(machine.steps)), key=lambda step: (self._offer_of[step], machine.steps[step][1]))
        self._ranks = np.argsort(np.array(places, np.uint64)).astype(np.uint64)
        self._start, self._state = row_of(walks.start, words), np.zeros(words, np.uint64)
        narrow = (1 << WORD * words) - 1  # a place that gets bits later is one that no state here has written
        self._reads = np.concatenate([row_of(memo.reads & narrow, words) for memo in memos])
        self._asked = np.zeros(ASKED, np.uint64)
        self._fresh = np.zeros((QUESTIONS + len(memos), 1 + words), np.uint64)
        self._offered = np.zeros((1 + len(machine.steps), words), np.uint64)
        self._seen = np.zeros(1 + machine.sought // WORD, np.uint64)
        self._course = Course(
            **{name: _address(getattr(self, f"_{name}")) for name in ("start", "state", "reads", "asked", "fresh")},
            **{"rank": _address(self._ranks), "offered": _address(self._offered), "seen": _address(self._seen)},
            **{"memos": len(memos), "places": ASKED, "fresh_room": len(self._fresh)},
            **{"walks": walks.walks.number, "depth": walks.walks.depth, "seed": walks.walks.seed},
        )

    def go_on(self, walks: PackedWalks) -> int:
        """Take steps until a monitor holds, memos have questions, Python has to take a step, or many were taken."""
        course = self._course
        if walks.state.bit_length() > WORD * self._machine.words:
            return LEFT
        self._state[:] = row_of(walks.state, self._machine.words)
        course.chance = walks.chance.state
        for name in COUNTED:
            setattr(course, name, getattr(walks, name))
        why = self._machine.walk(course, STEPS_AT_ONCE, walks.lookouts)
        walks.state, walks.chance.state = int.from_bytes(self._state.tobytes(), "little"), course.chance
        for name in COUNTED:
            setattr(walks, name, getattr(course, name))
        for number, times in zip(self._offer_of, self._machine.tally(), strict=True):
            walks.fired[number] += times
        self._note_rules(walks)
        self._ask(walks)
        return why

    def _note_rules(self, walks: PackedWalks) -> None:
        monitors = len(walks.model.monitors)
        for number, rule in enumerate(walks.model.saturation.rules, monitors):
            rule.fired |= bool(int(self._seen[number // WORD]) >> number % WORD & 1)

    def _ask(self, walks: PackedWalks) -> None:
        """Ask memos the new questions, so that guards are counted; forget the old ones if they are many."""
        for memo, *words in self._fresh[: self._course.fresh_count].tolist():
            walks.offers.memos[memo].answer(sum(word << WORD * place for place, word in enumerate(words)))
        self._course.fresh_count = 0
        if 4 * self._course.count > ASKED:
            self._asked[:] = 0
            self._course.count = 0


def _offer_of(walks: PackedWalks, name: str, row: Row) -> int:
    """Return the index of the offer in the walks that a ground step belongs to."""
    for number, step in enumerate(walks.offers.steps):
        if step.action.name == name:
            pools = (step.choices[var.name] for var in step.action.params)
            elements = (pool.pool if isinstance(pool, Draw) else pool for pool in pools)
            if all(element in pool for element, pool in zip(row, elements, strict=True)):
                return number
    raise AssertionError(f"nothing offers {name}{row}")


def _address(array: Words) -> int:
    return array.ctypes.data
