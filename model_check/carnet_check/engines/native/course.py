"""Random walks that compiled code continues; Python answers its questions and takes the steps that it leaves."""

from __future__ import annotations

import ctypes

import numpy as np

from carnet_check.engines.explicit.queries import Draw
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.native.lowering import WORD
from carnet_check.engines.native.machine import Machine, Words, row_of
from carnet_check.engines.native.model_code import LEFT
from carnet_spec.language import Row

STEPS_AT_ONCE = 1 << 17  #: The number of steps between two checks of the bounds.
#: The most questions noted at once beside those of one state, and the size of the table of questions noted before.
QUESTIONS, ASKED = 1 << 10, 1 << 20
#: The counts of walks that Python and compiled code exchange.
COUNTED = ("number", "taken", "steps", "longest", "stuck")


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
