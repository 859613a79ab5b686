"""Transfers with real encryption: they arrive whole and in their order, or end with one error and nothing released."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import NONCE_BYTES, TAG_BYTES, AesGcm, AuthenticationError
from carnet_ref.systems.fastrack.exchange import (
    CONFIDENTIAL,
    OPEN,
    Device,
    KernelError,
    KeyExchange,
    Keys,
    ReportError,
    TransferError,
    certify,
)
from carnet_ref.systems.fastrack.transfers import Gpu, Label, User, decrypt, seal, verify

KEYS = Keys(bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96)))
OTHER = Keys(bytes(32), bytes(32), bytes(32))
BLOCKS = [b"first block", b"second block, longer", b"third"]
WHOLE = b"".join(BLOCKS)
CODE = b"add one"


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    with Gpu(KEYS, workers=2) as it:
        yield it


def deliver(gpu: Gpu, transfer: int, chunks: list[bytes]) -> bytes:
    gpu.start(transfer, len(chunks))
    for place, chunk in enumerate(chunks):
        gpu.arrive(transfer, place, chunk)
    return gpu.release(transfer)


# -- what is sent arrives ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_chunks_may_arrive_in_any_order(gpu: Gpu, order: tuple[int, ...]) -> None:
    chunks = User(KEYS).send(1, BLOCKS, workers=3)
    gpu.start(1, 3)
    for place in order:
        gpu.arrive(1, place, chunks[place])
    assert gpu.release(1) == WHOLE


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=12), st.integers(1, 5), st.integers(1, 5))
def test_any_number_of_workers_gives_the_same(blocks: list[bytes], sealing: int, verifying: int) -> None:
    with Gpu(KEYS, verifying) as gpu:
        assert deliver(gpu, 7, User(KEYS).send(7, blocks, sealing)) == b"".join(blocks)


def test_decryption_does_not_wait_for_the_tag() -> None:
    label = Label(1, 0, 1)
    chunk = seal(KEYS.chunks, label, b"plain")
    assert decrypt(KEYS.chunks, chunk[:-TAG_BYTES] + bytes(TAG_BYTES)) == b"plain"
    assert AesGcm(KEYS.chunks).decrypt(label.nonce, chunk[NONCE_BYTES:], label.associated_data()) == b"plain"


# -- what is changed ends the transfer --------------------------------------------------------------------------------

SENT = User(KEYS).send(1, BLOCKS)
FOREIGN = User(KEYS).send(2, BLOCKS)
SHORTER = User(KEYS).send(1, BLOCKS[:2])
OTHERS = User(OTHER).send(1, BLOCKS)
CHANGED = {
    "a bit changed in the ciphertext": [SENT[0][:12] + bytes([SENT[0][12] ^ 1]) + SENT[0][13:], *SENT[1:]],
    "a bit changed in the IV": [bytes([SENT[0][0] ^ 1]) + SENT[0][1:], *SENT[1:]],
    "a bit changed in the tag": [*SENT[:2], SENT[2][:-1] + bytes([SENT[2][-1] ^ 1])],
    "a chunk cut short": [SENT[0], SENT[1][:-1], SENT[2]],
    "two chunks in each other's place": [SENT[1], SENT[0], SENT[2]],
    "one chunk twice": [SENT[0], SENT[0], SENT[2]],
    "a chunk of another transfer": [SENT[0], FOREIGN[1], SENT[2]],
    "another transfer": FOREIGN,
    "a chunk under another key": [SENT[0], OTHERS[1], SENT[2]],
    "the last chunk missing": SENT[:2],
    "the first chunk missing": SENT[1:],
    "a chunk of a transfer of another length": [*SHORTER[:1], *SENT[1:]],
    "a chunk after the last": [*SENT, SENT[2]],
}


@pytest.mark.verifies("fastrack-REQ-RECEIVE-04", "fastrack-REQ-RECEIVE-05", "fastrack-REQ-SEND-03")
@pytest.mark.parametrize("what", CHANGED)
def test_what_is_changed_ends_the_transfer(gpu: Gpu, what: str) -> None:
    gpu.name_code(User(KEYS).name_code(CODE))
    with pytest.raises(TransferError, match="AES-GCM tag does not verify") as failed:
        deliver(gpu, 1, CHANGED[what])
    assert failed.value.transfer == 1
    nothing_is_released(gpu)


def nothing_is_released(gpu: Gpu) -> None:
    with pytest.raises(TransferError, match="is not under way"):
        gpu.release(1)
    with pytest.raises(TransferError, match="was not released"):
        gpu.run(CODE, bytes.upper, 1)


@pytest.mark.verifies("fastrack-REQ-RECEIVE-06")
def test_a_chunk_that_does_not_come_ends_the_transfer(gpu: Gpu) -> None:
    gpu.name_code(User(KEYS).name_code(CODE))
    gpu.start(1, 3)
    for place in (0, 1):
        gpu.arrive(1, place, SENT[place])
    with pytest.raises(TransferError, match="1 of 3 chunks are missing"):
        gpu.release(1)
    nothing_is_released(gpu)


@pytest.mark.parametrize("count", [0, -1])
def test_a_transfer_has_a_chunk(gpu: Gpu, count: int) -> None:
    with pytest.raises(TransferError, match="chunks"):
        gpu.start(1, count)
    with pytest.raises(TransferError, match="chunks"):
        User(KEYS).begin(1, count)


@pytest.mark.parametrize("place", [-1, 3])
def test_no_chunk_is_beside_the_transfer(gpu: Gpu, place: int) -> None:
    gpu.start(1, 3)
    with pytest.raises(TransferError, match="no place"):
        gpu.arrive(1, place, SENT[0])


def test_bytes_without_a_tag_are_no_chunk_and_only_the_user_names_code(gpu: Gpu) -> None:
    gpu.start(1, 1)
    with pytest.raises(TransferError, match="no IV and tag"):
        gpu.arrive(1, 0, b"short")
    with pytest.raises(AuthenticationError):
        gpu.name_code(User(OTHER).name_code(b"copy out"))


# -- once -------------------------------------------------------------------------------------------------------------


@pytest.mark.verifies("fastrack-REQ-RECEIVE-01")
def test_a_transfer_begins_once(gpu: Gpu) -> None:
    assert deliver(gpu, 1, SENT) == WHOLE
    with pytest.raises(TransferError, match="began before"):
        deliver(gpu, 1, SENT)


@pytest.mark.verifies("fastrack-REQ-RECEIVE-02", "fastrack-REQ-RECEIVE-03")
def test_a_place_is_fetched_once_and_the_copy_is_what_counts(gpu: Gpu) -> None:
    bounce = bytearray(SENT[0])
    gpu.start(1, 3)
    gpu.arrive(1, 0, bounce)
    bounce[:] = bytes(len(bounce))
    for place in (1, 2):
        gpu.arrive(1, place, SENT[place])
    assert gpu.release(1) == WHOLE
    gpu.start(2, 3)
    gpu.arrive(2, 0, FOREIGN[0])
    with pytest.raises(TransferError, match="has a chunk already"):
        gpu.arrive(2, 0, FOREIGN[0])


@pytest.mark.verifies("fastrack-REQ-SEND-01")
def test_the_number_of_a_transfer_is_used_once() -> None:
    user = User(KEYS)
    user.send(1, BLOCKS)
    with pytest.raises(TransferError, match="used already"):
        user.send(1, BLOCKS)


@pytest.mark.verifies("fastrack-REQ-SEND-02")
def test_one_worker_seals_a_place() -> None:
    user = User(KEYS)
    user.begin(1, 1)
    user.seal(1, 0, b"one")
    with pytest.raises(TransferError, match="sealed already"):
        user.seal(1, 0, b"two")
    with pytest.raises(TransferError, match="no place 1 of 1"):
        user.seal(1, 1, b"two")


# -- what a tag binds, each by itself ---------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [Label(2, 0, 2), Label(1, 1, 2), Label(1, 0, 3), Label(1, 0, 1)])
def test_a_tag_binds_each_part_of_the_label(other: Label) -> None:
    label = Label(1, 0, 2)
    assert label.associated_data() != other.associated_data()
    chunk = other.nonce + AesGcm(KEYS.chunks).encrypt(other.nonce, b"block", label.associated_data())
    with pytest.raises(AuthenticationError):
        verify(KEYS.chunks, other, chunk)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_no_two_places_have_one_iv(transfer: int, place: int, other: int, another: int) -> None:
    same = (transfer, place) == (other, another)
    assert (Label(transfer, place, 2**32).nonce == Label(other, another, 2**32).nonce) == same


@pytest.mark.parametrize(("transfer", "place", "count"), [(-1, 0, 1), (2**64, 0, 1), (0, 1, 1), (0, 0, 2**32 + 1)])
def test_a_label_is_in_its_range(transfer: int, place: int, count: int) -> None:
    with pytest.raises(ValueError, match="no place"):
        Label(transfer, place, count)


# -- kernels and answers ----------------------------------------------------------------------------------------------


@pytest.mark.verifies("fastrack-REQ-KERNEL-01", "fastrack-REQ-ANSWER-01")
def test_code_that_the_user_named_runs_and_answers_once(gpu: Gpu) -> None:
    user = User(KEYS)
    gpu.name_code(user.name_code(CODE))
    deliver(gpu, 1, user.send(1, BLOCKS))
    with pytest.raises(KernelError, match="did not name"):
        gpu.run(b"copy out", bytes, 1)
    answer = gpu.run(CODE, bytes.upper, 1)
    with pytest.raises(TransferError, match="has its answer"):
        gpu.run(CODE, bytes.upper, 1)
    assert user.take_answer(1, answer) == WHOLE.upper()


@pytest.mark.verifies("fastrack-REQ-ANSWER-01")
def test_an_answer_is_to_its_transfer(gpu: Gpu) -> None:
    user = User(KEYS)
    gpu.name_code(user.name_code(CODE))
    deliver(gpu, 1, user.send(1, BLOCKS))
    user.begin(2, 1)
    answer = gpu.run(CODE, bytes.upper, 1)
    with pytest.raises(TransferError, match="not to it"):
        user.take_answer(2, answer)
    with pytest.raises(TransferError, match="was not begun"):
        user.take_answer(3, answer)


def test_no_kernel_reads_a_chunk_before_the_whole_is_released(gpu: Gpu) -> None:
    gpu.start(1, 3)
    assert gpu.readable(1) == gpu.readable(2) == {}
    for place, chunk in enumerate(SENT):
        gpu.arrive(1, place, chunk)
        assert gpu.readable(1) == {}
    gpu.release(1)
    assert gpu.readable(1) == dict(enumerate(BLOCKS))


ROOT = ec.generate_private_key(ec.SECP384R1())
GPU = ec.generate_private_key(ec.SECP384R1())
FAKE = ec.generate_private_key(ec.SECP384R1())


def device(identity: ec.EllipticCurvePrivateKey = GPU, mode: bytes = CONFIDENTIAL) -> Device:
    return Device(identity, certify(ROOT if identity is GPU else FAKE, identity), mode, os.urandom)


@pytest.mark.verifies("fastrack-REQ-SETUP-01", "fastrack-REQ-SETUP-02")
def test_both_ends_have_the_same_keys() -> None:
    exchange = KeyExchange(os.urandom)
    answer, keys = device().answer(exchange.opening)
    assert exchange.take(answer, ROOT.public_key()) == keys
    assert len({keys.chunks, keys.answers, keys.codes}) == 3


@pytest.mark.verifies("fastrack-REQ-SETUP-03")
def test_a_report_of_another_exchange_is_not_taken() -> None:
    answer, _ = device().answer(KeyExchange(os.urandom).opening)
    with pytest.raises(ReportError, match="names another exchange"):
        KeyExchange(os.urandom).take(answer, ROOT.public_key())


@pytest.mark.verifies("fastrack-REQ-SETUP-03")
def test_the_share_of_somebody_between_is_not_taken() -> None:
    exchange = KeyExchange(os.urandom)
    answer, _ = device().answer(exchange.opening)
    own, _ = device(FAKE).answer(exchange.opening)
    with pytest.raises(ReportError, match="names another exchange"):
        exchange.take(replace(answer, share=own.share), ROOT.public_key())


@pytest.mark.verifies("fastrack-REQ-SETUP-04")
def test_a_fake_gpu_is_not_taken() -> None:
    exchange = KeyExchange(os.urandom)
    answer, _ = device(FAKE).answer(exchange.opening)
    with pytest.raises(ReportError, match="certificate does not verify"):
        exchange.take(answer, ROOT.public_key())


@pytest.mark.verifies("fastrack-REQ-SETUP-05")
def test_open_mode_is_not_taken() -> None:
    exchange = KeyExchange(os.urandom)
    answer, _ = device(mode=OPEN).answer(exchange.opening)
    with pytest.raises(ReportError, match="mode open"):
        exchange.take(answer, ROOT.public_key())
    with pytest.raises(ReportError, match="report does not verify"):
        exchange.take(replace(answer, report=replace(answer.report, mode=CONFIDENTIAL)), ROOT.public_key())
