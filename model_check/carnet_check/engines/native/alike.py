"""Which state stands for others, as C: what a state says of each bundle of alike elements, read and written by masks.

The number of a bundle is what the state says of it alone, moved to where the state says the same of the first bundle of
its class. Places that permutations map to each other get their bits together, so numbers are in the same order as those
of the canonicalizer, and most places move by the same distance.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

from carnet_check.engines.explicit.symmetry import Bundle, Canonicalizer, Tie

WORD = 64
RANKS_EACH = 4  #: How many ranks of bundles are in a word: as in runtime.c.
#: Bits of a word of a bundle's number, by that word, the word of the state, and how far left they are there.
Moves = dict[tuple[int, int, int], int]


def lines_of(canonical: Canonicalizer) -> Iterator[str]:
    """Yield the definitions that ``runtime.c`` asks for where elements are interchangeable."""
    moves = [_moves(bundles[0], bundle) for bundles in canonical.classes for bundle in bundles]
    classes = [0, *itertools.accumulate(map(len, canonical.classes))]
    length = max((1 + word for each in moves for word, _, _ in each), default=1)
    shared = shared_words(canonical)
    yield f"enum {{ BUNDLES = {len(moves)}, CLASSES = {len(classes) - 1}, LENGTH = {length}, SHARED = {len(shared)} }};"
    yield f"static const u64 classes[] = {{{', '.join(map(str, classes))}}};"
    yield f"static const u64 shared_at[] = {{{', '.join(map(str, shared)) or 0}}};"
    yield f"static const u64 shared_bits[] = {{{', '.join(f'{mask:#x}ul' for mask in shared.values()) or 0}}};"
    yield "static inline void number_bundles(const u64 *s, u64 (*numbers)[LENGTH]) {"
    for bundle, each in enumerate(moves):
        for word in range(length):
            read = (
                f"({_shift_left(f's[{at}]', -by)} & {mask:#x}ul)" for (to, at, by), mask in each.items() if to == word
            )
            yield f"    numbers[{bundle}][{word}] = {' | '.join(read) or 0};"
    yield "}"
    yield "static inline void place_bundles(u64 *s, u64 (*numbers)[LENGTH], const u64 *order) {"
    written: dict[int, list[str]] = defaultdict(list)
    masks: dict[int, int] = defaultdict(int)
    for bundle, each in enumerate(moves):
        yield f"    const u64 *n{bundle} = numbers[order[{bundle}]];"
        for (word, at, by), mask in each.items():
            written[at].append(_shift_left(f"(n{bundle}[{word}] & {mask:#x}ul)", by))
            masks[at] |= mask << by if by > 0 else mask >> -by
    for at, parts in written.items():
        yield f"    s[{at}] = (s[{at}] & ~{masks[at]:#x}ul) | {' | '.join(parts)};"
    yield "}"


def shared_words(canonical: Canonicalizer) -> dict[int, int]:
    """Return the words of a state that say something of several bundles, and the bits of each that do."""
    words = range(-(-canonical.shared.bit_length() // WORD))
    masks = {word: canonical.shared >> WORD * word & (1 << WORD) - 1 for word in words}
    return {word: mask for word, mask in masks.items() if mask}


def tie_words(tie: Tie, shared: Sequence[int]) -> list[int]:
    """Return a tie as words: see ``tie_t`` in runtime.c.

    Args:
        shared: the words of a state that say something of several bundles.
    """
    before, after = ([bits >> WORD * word & (1 << WORD) - 1 for word in shared] for bits in (tie.shared, tie.least))
    packed = [
        sum(rank << 16 * place for place, rank in enumerate(tie.ranks[at : at + RANKS_EACH]))
        for at in range(0, len(tie.ranks), RANKS_EACH)
    ]
    return [*before, *packed, *after, min(tie.stabilizer, (1 << WORD) - 1)]


def _moves(first: Bundle, bundle: Bundle) -> Moves:
    """Return where a state has the places of a bundle, and where it has those of the first bundle of its class."""
    moves: Moves = defaultdict(int)
    for (mask, shift, _), (_, its_shift, _) in zip(first.parts, bundle.parts, strict=True):
        word, at = shift // WORD, its_shift // WORD
        moves[word, at, its_shift % WORD - shift % WORD] |= mask >> WORD * word
    return moves


def _shift_left(expression: str, by: int) -> str:
    return expression if by == 0 else f"({expression} {'<<' if by > 0 else '>>'} {abs(by)})"
