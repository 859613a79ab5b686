"""Memory: an answer is worked out once for the bits it reads, and forgotten as soon as it may be wrong."""

from __future__ import annotations

from carnet_check.engines.explicit.memory import Memo, arranged, joined


def _counting(answers: list[int]) -> Memo[int]:
    """Return a memo that answers the bits it is asked about, and lists what it was asked."""

    def work_out(bits: int) -> int:
        answers.append(bits)
        return bits

    return Memo(work_out)


def test_states_that_agree_on_the_bits_read_share_an_answer() -> None:
    asked: list[int] = []
    memo = _counting(asked)
    memo.grow(0b011)
    assert [memo.answer(s) for s in (0b001, 0b101, 0b010, 0b110)] == [0b01, 0b01, 0b10, 0b10]
    assert asked == [0b01, 0b10]


def test_reading_more_bits_keeps_what_was_known_where_they_are_0() -> None:
    asked: list[int] = []
    memo = _counting(asked)
    memo.grow(0b01)
    memo.answer(0b01)
    memo.grow(0b10)
    assert (memo.answer(0b01), memo.answer(0b11)) == (0b01, 0b11)
    assert asked == [0b01, 0b11]


def test_forgetting_reaches_those_who_rest_on_it_and_is_announced_first() -> None:
    announced: list[dict[int, int]] = []
    part: Memo[int] = Memo(lambda bits: bits, lambda memo: announced.append(dict(memo)))
    part.grow(0b1)
    both = joined([part, _counting([])], sum)
    both.answer(0b1)
    part.forget()
    assert (dict(part), dict(both)) == ({}, {})
    assert announced[0] == {1: 1}


def test_an_answer_that_is_forgotten_while_it_is_worked_out_is_worked_out_again() -> None:
    answers = [1, 2]

    def work_out(bits: int) -> int:
        if len(answers) == 2:
            memo.forget()
        return answers.pop(0)

    memo: Memo[int] = Memo(work_out)
    assert memo.answer(0) == 2
    assert memo == {0: 2}


def test_a_joint_memo_reads_what_its_parts_read_now_and_later() -> None:
    one, other = _counting([]), _counting([])
    one.grow(0b001)
    both = joined([one, other], sum)
    other.grow(0b100)
    assert both.reads == 0b101
    assert both.answer(0b111) == 0b001 + 0b100


def test_memos_are_joined_where_the_sample_is_told_apart_less_than_half() -> None:
    sample = [*range(4)] * 4
    low, same, high = (_counting([]) for _ in range(3))
    low.grow(0b01)
    same.grow(0b01)
    high.grow(0b1111 << 4)
    spread = [s | n << 4 for n, s in enumerate(sample)]
    found = arranged([low, same, high], spread, sum, len(spread) / 2)
    assert len(found) == 2, "the third tells every state of the sample apart, whomever it is joined with"
    assert {memo.reads for memo in found} == {0b01, 0b1111 << 4}
