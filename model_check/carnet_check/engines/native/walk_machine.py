"""What the kernel of random walks works with, the way back to the memos where it has no answer, and the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.native import kernel
from carnet_check.engines.native.answer_tables import ASKED, AnswerTables
from carnet_check.engines.native.answers import answer, edit
from carnet_check.engines.native.compiling import compiled, inlined, nth
from carnet_check.engines.native.kernel import DONE, MISSING, NARROW, SIGHTED
from carnet_check.engines.native.store import WORD, row_of
from carnet_check.engines.native.tables import COUNTERS, FIRST, MISSES, NONE, Missing, Number, Numbers, Tables, Words

STEPS_AT_ONCE = 1 << 17
"""How many steps are taken before bounds are looked at."""
OFFERED = 1 << 10
"""How many steps may be offered at first in a state."""


class WalkMachine:
    """Goes on with walks, and leaves in them how far it came."""

    def __init__(self, walks: PackedWalks) -> None:
        self._walks = walks
        self._order = np.zeros(OFFERED, np.int64)
        self._looking = walks.looking
        self.begin()

    def begin(self) -> None:
        """Begin a book, as wide as states are: it knows nothing that memos have forgotten."""
        self._words = 1 + self._walks.model.layout.bits // WORD
        self._book = AnswerTables(self._words, self._walks.offers.memos, self._looking)
        self._missing = Missing(np.zeros(ASKED, np.int64), np.zeros(ASKED * self._words, np.uint64))

    def go_on(self) -> bool:
        """Take steps until an answer is missing, something is seen or it was enough; return whether it is seen."""
        walks = self._walks
        if self._looking is not walks.looking:
            self._looking = walks.looking
            self._book.look_for(self._looking)
        course, counters = self._course(), np.zeros(COUNTERS, np.int64)
        why = walk(
            walks.walks.number,
            walks.walks.depth,
            STEPS_AT_ONCE,
            np.uint64(walks.walks.seed),
            self._book.looking,
            course,
            self._book.tables,
            self._missing,
            counters,
        )
        walks.state, walks.chance.state = int.from_bytes(course.state.tobytes(), "little"), int(course.chance[0])
        walks.number, walks.taken, walks.steps, walks.longest, walks.stuck = course.told.tolist()
        walks.fired = course.taken.tolist()
        self._resolve(why, int(counters[MISSES]))
        return bool(why == kernel.SIGHTED)

    def _course(self) -> Course:
        walks = self._walks
        return Course(
            start=row_of(walks.start, self._words),
            state=row_of(walks.state, self._words),
            after=np.zeros(self._words, np.uint64),
            changed=np.zeros(self._words, np.uint64),
            key=np.zeros(self._words, np.uint64),
            chance=np.array([walks.chance.state], np.uint64),
            chosen=np.zeros(len(walks.offers.memos), np.int64),
            order=self._order,
            taken=np.array(walks.fired, np.int64),
            told=np.array([walks.number, walks.taken, walks.steps, walks.longest, walks.stuck], np.int64),
        )

    def _resolve(self, why: Number, misses: int) -> None:
        if why == kernel.NARROW:
            self._order = np.zeros(2 * len(self._order), np.int64)
        elif why == kernel.MISSING and not self._book.work_out(self._missing, misses, self._walks.model.layout):
            self.begin()


# --------------------------------------------------------------------------------------------------
# The machine's part of random walks: steps are drawn and taken by looking answers up in the tables of the search.
#
# One walk is taken after the other. Where an answer is missing, the kernel comes back before anything of the step is
# kept, and the step begins again once the answer is there: so it never meets an answer that is awaited. What is drawn
# is what :mod:`carnet_check.engines.explicit.walking` draws.

PAUSED = -1
"""Why a walk comes back, beside what functions of a search come back for: it took as many steps as it may at once."""
NUMBER, TAKEN, STEPS, LONGEST, STUCK = range(5)
"""Places in what is told of walks."""
_NOWHERE, _UNKNOWN = -1, -2
"""Instead of an action, or of how many steps there are: no step changes anything, or an answer is missing."""
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = (np.uint64(number) for number in (30, 27, 31, 32))


class Course(NamedTuple):
    """Where the kernel walks."""

    start: Words  # the first state
    state: Words  # where the walk is,
    after: Words  # where a step leads,
    changed: Words  # and which bits it changes
    key: Words  # a key
    chance: Words  # one word, which decides all that is drawn from here on
    chosen: Numbers  # for each memo of moves its answer about the state
    order: Numbers  # the steps that are offered, by number, those first that were not drawn yet
    taken: Numbers  # how often each action was taken
    told: Numbers
    """Which walk it is, how many steps of it and of all were taken, and how many the longest took and ended early."""


# -- chance ----------------------------------------------------------------------------------------


@inlined
def spread(word: np.uint64) -> np.uint64:
    """Spread 64 bits."""
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@inlined
def chance_of(seed: np.uint64, walk: Number) -> np.uint64:
    """Return what decides what one walk draws."""
    return spread(seed) ^ spread(spread(np.uint64(walk)) + _STRIDE)


@inlined
def drawn_below(bound: Number, chance: np.uint64) -> Number:
    """Return one of so many numbers."""
    return np.int64(((spread(chance) >> _32) * np.uint64(bound)) >> _32)


# -- one step --------------------------------------------------------------------------------------


@inlined
def reads_a_change(memo: Number, course: Course, tables: Tables) -> bool:
    """Whether the last step changed anything that a memo reads."""
    begin = tables.begins[nth(memo)]
    end = tables.pieces[nth(begin + tables.lengths[nth(memo)])]
    for piece in range(tables.pieces[nth(begin)], end):
        if course.changed[nth(tables.sources[nth(piece)])] & tables.masks[nth(piece)]:
            return True
    return False


@inlined
def look(anew: bool, looking: Numbers, course: Course, tables: Tables, missing: Missing, counters: Numbers) -> Number:
    """Look at the state for something that is looked for; say whether it is seen, or answers are missing."""
    why = DONE
    for number in range(looking.shape[0]):
        memo = looking[nth(number)]
        if not (anew or reads_a_change(memo, course, tables)):
            continue
        if answer(memo, course.state, tables, course.key, missing, counters) > FIRST:
            why = SIGHTED
    return MISSING if counters[MISSES] else why


@inlined
def offer(anew: bool, course: Course, tables: Tables, missing: Missing, counters: Numbers) -> Number:
    """Find what every action offers in the state; return how many steps that are, or that answers are missing."""
    total = np.int64(0)
    for number in range(tables.moving.shape[0]):
        memo = tables.moving[nth(number)]
        if anew or reads_a_change(memo, course, tables):
            content = answer(memo, course.state, tables, course.key, missing, counters)
            if content < FIRST:
                continue
            course.chosen[nth(number)] = content - FIRST
        total += offered(course.chosen[nth(number)], tables)
    return _UNKNOWN if counters[MISSES] else total


@inlined
def offered(chosen: Number, tables: Tables) -> Number:
    """Return how many steps an answer has."""
    steps: Number = tables.firsts[nth(chosen + 1)] - tables.firsts[nth(chosen)]
    return steps


@inlined
def lead(effect: Number, course: Course, tables: Tables, missing: Missing, counters: Numbers) -> bool:
    """Write down where an effect leads; return false if an answer is missing."""
    for word in range(course.state.shape[0]):
        course.after[nth(word)] = course.state[nth(word)]
    edit(effect, course.after, tables)
    if tables.closures[nth(effect)] == NONE:
        return True
    content = answer(tables.closures[nth(effect)], course.after, tables, course.key, missing, counters)
    if content < FIRST:
        return False
    edit(content - FIRST, course.after, tables)
    return True


@inlined
def differs(course: Course) -> bool:
    """Write down what a step changes, and say whether it changes anything."""
    some = False
    for word in range(course.state.shape[0]):
        course.changed[nth(word)] = course.state[nth(word)] ^ course.after[nth(word)]
        some |= course.changed[nth(word)] != np.uint64(0)
    return some


@inlined
def draw(total: Number, course: Course, tables: Tables, missing: Missing, counters: Numbers) -> Number:
    """Draw one of the steps offered that changes the state, and write down where it leads and what it changes.

    Returns:
        The number of its action, or that there is none, or that an answer is missing.
    """
    chance = course.chance[nth(0)]
    left = total
    while left:
        chance += _STRIDE
        place = drawn_below(left, chance)
        way = place if left == total else course.order[nth(place)]
        number = np.int64(0)
        while way >= offered(course.chosen[nth(number)], tables):
            way -= offered(course.chosen[nth(number)], tables)
            number += 1
        effect = tables.effects[nth(tables.firsts[nth(course.chosen[nth(number)])] + way)]
        if not lead(effect, course, tables, missing, counters):
            return _UNKNOWN
        if differs(course):
            course.chance[nth(0)] = chance
            return number
        if left == total:
            for each in range(total):
                course.order[nth(each)] = each
        left -= 1
        course.order[nth(place)] = course.order[nth(left)]
    return _NOWHERE


# -- what is called --------------------------------------------------------------------------------


@compiled
def walk(
    end: Number,
    depth: Number,
    most: Number,
    seed: np.uint64,
    looking: Numbers,
    course: Course,
    tables: Tables,
    missing: Missing,
    counters: Numbers,
) -> Number:
    """Take up to ``most`` steps of walks up to the one numbered ``end``; say why it comes back."""
    told = course.told
    anew = True
    for _ in range(most):
        why = look(anew, looking, course, tables, missing, counters)
        if why != DONE:
            return why
        number = np.int64(_NOWHERE)
        if told[TAKEN] < depth:
            total = offer(anew, course, tables, missing, counters)
            if total == _UNKNOWN:
                return MISSING
            if total > course.order.shape[0]:
                return NARROW
            number = np.int64(draw(total, course, tables, missing, counters))
            if number == _UNKNOWN:
                return MISSING
        if number != _NOWHERE:
            for word in range(course.state.shape[0]):
                course.state[nth(word)] = course.after[nth(word)]
            course.taken[nth(number)] += 1
            told[TAKEN] += 1
            told[STEPS] += 1
            anew = False
            continue
        told[STUCK] += told[TAKEN] < depth
        told[LONGEST] = max(told[LONGEST], told[TAKEN])
        told[NUMBER] += 1
        told[TAKEN] = 0
        for word in range(course.state.shape[0]):
            course.state[nth(word)] = course.start[nth(word)]
        course.chance[nth(0)] = chance_of(seed, told[NUMBER])
        anew = True
        if told[NUMBER] == end:
            return DONE
    return PAUSED
