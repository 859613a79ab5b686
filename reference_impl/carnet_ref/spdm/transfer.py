"""The transfer of messages: whole, in chunks, or deferred, and the limits on all of these.

What is in pieces or put off is not part of any transcript: the states see whole messages, and each once.

Source: DMTF DSP0274 1.3.2, sections "Large SPDM message transfer mechanism", "ERROR response message",
"RESPOND_IF_READY request message" and "CERTIFICATE response".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Generic, NamedTuple, Self, TypeVar

from carnet_ref.spdm import messages
from carnet_ref.spdm.errors import BusyError, NotReadyError, PutOffError, TransferError, UnexpectedMessageError
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.wire import MalformedError

LEAST_TRANSFER: Final = 42  #: The least DataTransferSize that SPDM allows.
#: What a piece holds at least, unless it is the last; so a message of so many bytes has a bounded number of pieces.
LEAST_CHUNK: Final = LEAST_TRANSFER - messages.CHUNK_HEADER_BYTES - messages.SIZE_BYTES
_LAST_SEQUENCE: Final = 0xFFFF

_Piece = TypeVar("_Piece", messages.ChunkSend, messages.ChunkResponse)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that is sent in chunks of at most ``transfer`` bytes each."""

    data: bytes
    handle: int
    transfer: int
    sequence: int = 0
    sent: int = 0

    @property
    def is_finished(self) -> bool:
        """Whether all chunks were sent."""
        return self.sent == len(self.data)

    def piece(self, kind: type[_Piece], version: Version) -> tuple[Outgoing, _Piece]:
        """Return the state after the next chunk, and the chunk. Raises TransferError if chunk numbers run out.

        Raises TransferError if there are more pieces than numbers.
        """
        if self.sequence > _LAST_SEQUENCE:
            raise TransferError(f"a message of {len(self.data)} bytes in pieces of {self.transfer}")
        first = self.sequence == 0
        room = self.transfer - messages.CHUNK_HEADER_BYTES - (messages.SIZE_BYTES if first else 0)
        chunk = self.data[self.sent : self.sent + room]
        after = replace(self, sequence=self.sequence + 1, sent=self.sent + len(chunk))
        whole = len(self.data) if first else None
        return after, kind(version, self.handle, self.sequence, after.is_finished, chunk, whole)


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message that arrives in chunks, of at most ``most`` bytes in all."""

    handle: int
    most: int
    whole: int = 0
    data: bytes = b""
    sequence: int = 0

    @property
    def is_finished(self) -> bool:
        """Whether all chunks arrived."""
        return bool(self.sequence) and len(self.data) == self.whole

    def add(self, piece: messages.ChunkSend | messages.ChunkResponse) -> Incoming:
        """Return the state after the next chunk.

        Raises TransferError if it is another piece than the next, too small, too long, or of a message that is too
        long.
        """
        if (piece.handle, piece.sequence) != (self.handle, self.sequence):
            raise TransferError(
                f"piece {self.sequence} of message {self.handle} comes next, "
                f"and piece {piece.sequence} of message {piece.handle} came"
            )
        whole = self.whole if piece.whole_size is None else piece.whole_size
        if whole > self.most:
            raise TransferError(f"a message of {whole} bytes, and {self.most} are taken")
        data = self.data + piece.chunk
        if len(data) > whole or piece.last != (len(data) == whole):
            raise TransferError(f"{len(data)} bytes of a message of {whole} after piece {piece.sequence}")
        if not piece.chunk or (len(piece.chunk) < LEAST_CHUNK and not piece.last):
            raise TransferError(f"a piece of {len(piece.chunk)} bytes")
        return replace(self, whole=whole, data=data, sequence=self.sequence + 1)


MOST_TRIES: Final = 8  #: How often one request is sent again, or asked after.
LONGEST_EXPONENT: Final = 23  #: The longest wait is 2 to that power microseconds: eight seconds.
_FIRST_PAUSE: Final = 1 << 10
_MULTIPLIER: Final = 255  #: A response that is not ready is kept as long as the standard can say.
#: Requests that take no time to answer.
_NEVER_LATE: Final = frozenset(
    {messages.GetVersion.CODE, messages.GetCapabilities.CODE, messages.NegotiateAlgorithms.CODE}
)
_OF_TRANSFERS: Final = frozenset(
    kind.CODE
    for kind in (
        messages.ChunkSend,
        messages.ChunkSendAck,
        messages.ChunkGet,
        messages.ChunkResponse,
        messages.RespondIfReady,
    )
)
_CODE_AT: Final = 1

_Transfer_co = TypeVar("_Transfer_co", covariant=True)


class TransferStep(NamedTuple, Generic[_Transfer_co]):
    """The result of a transfer step: the next state, the bytes to send, and the message if it is complete."""

    transfer: _Transfer_co
    send: bytes | None = None  #: Bytes of a message to send.
    whole: bytes | None = None  #: A message that the state has to take.
    after: int = 0  #: How many microseconds to wait before sending.


@dataclass(frozen=True, slots=True)
class Sizes:
    """The peer's limits in bytes: ``transfer`` for one piece and ``message`` in chunks, if it supports them."""

    pieces: bool = False
    peer_transfer: int | None = None
    peer_message: int | None = None
    own_message: int = 0

    @property
    def longest(self) -> int | None:
        """The longest message that the peer accepts; None before version 1.2, which has no such field."""
        return self.peer_message if self.pieces else self.peer_transfer

    def fits(self, message: bytes) -> bool:
        """Whether a message can be sent in one piece. Raises TransferError if the peer accepts it in no way."""
        if self.peer_transfer is None or len(message) <= self.peer_transfer:
            return True
        if self.longest is None or len(message) > self.longest:
            raise TransferError(f"a message of {len(message)} bytes, and the peer takes {self.longest}")
        return False


@dataclass(frozen=True, slots=True)
class _Transfer:
    """What both ends keep: the version that was agreed on, sizes, and messages in pieces."""

    version: Version = Version.V1_0
    sizes: Sizes = Sizes()
    handle: int = 0
    outgoing: Outgoing | None = None
    incoming: Incoming | None = None

    def with_version(self, version: Version, sizes: Sizes = Sizes()) -> Self:
        """Return this once the version is known, and sizes if the ends say them."""
        return replace(self, version=version, sizes=sizes)

    def _read(self, data: bytes) -> Message:
        return messages.parse_message(data, Layout(self.version))

    def _in_pieces(self, data: bytes) -> Outgoing:
        assert self.sizes.peer_transfer is not None
        return Outgoing(data, self.handle, self.sizes.peer_transfer)


def _code(data: bytes) -> int | None:
    return data[_CODE_AT] if len(data) > _CODE_AT else None


def _insist_plain(data: bytes) -> None:
    if _code(data) in _OF_TRANSFERS:
        raise UnexpectedMessageError("a message of its own", "a piece of a message inside a message")


@dataclass(frozen=True, slots=True)
class RequesterTransfer(_Transfer):
    """The requester's transfer state: the pending request, and how often it was deferred."""

    request: bytes = b""
    tries: int = 0

    def put(self, request: bytes) -> TransferStep[RequesterTransfer]:
        """Send a request. Raises TransferError if it is too long for the peer."""
        return replace(self, request=request, tries=0, outgoing=None, incoming=None)._send()

    def _send(self, after: int = 0) -> TransferStep[RequesterTransfer]:
        if self.sizes.fits(self.request):
            return TransferStep(self, self.request, after=after)
        outgoing, piece = self._in_pieces(self.request).piece(messages.ChunkSend, self.version)
        moved = replace(self, outgoing=outgoing, handle=self.handle + 1 & 0xFF)
        return TransferStep(moved, piece.encode(), after=after)

    def take(self, data: bytes) -> TransferStep[RequesterTransfer]:
        """Handle bytes from the responder.

        Raises TransferError if its pieces do not fit, or it puts this end off once too often; UnexpectedMessageError if
        it sends pieces that were not asked for, or none; MalformedError if it cannot be read.
        """
        if self.outgoing is not None:
            return self._acknowledged(self.outgoing, data)
        if self.incoming is not None:
            return self._more(self.incoming, data)
        if _code(data) != messages.Error.CODE:
            _insist_plain(data)
            return TransferStep(self, whole=data)
        error = self._read(data)
        assert isinstance(error, messages.Error)
        if error.code == messages.ErrorCode.BUSY:
            if error.extended:
                raise MalformedError("Busy", "nothing more", f"{len(error.extended)} bytes", 4)
            return self._again()._send(_FIRST_PAUSE << self.tries)
        if error.code == messages.ErrorCode.RESPONSE_NOT_READY and self.request[_CODE_AT] not in _NEVER_LATE:
            return self._ask_later(messages.NotReady.of(error))
        if error.code == messages.ErrorCode.LARGE_RESPONSE and self.sizes.pieces:
            if len(error.extended) != 1:
                raise TransferError(f"a large response whose handle has {len(error.extended)} bytes")
            return self._get(Incoming(error.extended[0], self.sizes.own_message))
        return TransferStep(self, whole=data)

    def _again(self) -> RequesterTransfer:
        if self.tries == MOST_TRIES:
            raise TransferError(f"the peer put the same request off more than {MOST_TRIES} times")
        return replace(self, tries=self.tries + 1)

    def _ask_later(self, late: messages.NotReady) -> TransferStep[RequesterTransfer]:
        if late.request_code != self.request[_CODE_AT]:
            raise UnexpectedMessageError(
                f"request {self.request[_CODE_AT]:#04x}", f"{late.request_code:#04x} not ready"
            )
        if late.exponent > LONGEST_EXPONENT or late.multiplier < 2:
            raise TransferError(
                f"a response after 2^{late.exponent} microseconds, kept {late.multiplier} times as long"
            )
        again = messages.RespondIfReady(self.version, late.request_code, late.token)
        return TransferStep(self._again(), again.encode(), after=1 << late.exponent)

    def _acknowledged(self, outgoing: Outgoing, data: bytes) -> TransferStep[RequesterTransfer]:
        ack = self._read(data)
        if not isinstance(ack, messages.ChunkSendAck):
            if isinstance(ack, messages.Error):
                return TransferStep(replace(self, outgoing=None), whole=data)
            raise UnexpectedMessageError("CHUNK_SEND_ACK", type(ack).__name__)
        if (ack.handle, ack.sequence) != (outgoing.handle, outgoing.sequence - 1):
            raise TransferError(f"an acknowledgement of piece {ack.sequence} of message {ack.handle}")
        if ack.early_error or outgoing.is_finished:
            if ack.early_error and _code(ack.response) != messages.Error.CODE:
                raise UnexpectedMessageError("an ERROR, early", "another response")
            return replace(self, outgoing=None).take(ack.response)
        if ack.response:
            raise UnexpectedMessageError("an acknowledgement of a piece", "a response before the last piece")
        moved, piece = outgoing.piece(messages.ChunkSend, self.version)
        return TransferStep(replace(self, outgoing=moved), piece.encode())

    def _get(self, incoming: Incoming) -> TransferStep[RequesterTransfer]:
        ask = messages.ChunkGet(self.version, incoming.handle, incoming.sequence)
        return TransferStep(replace(self, incoming=incoming), ask.encode())

    def _more(self, incoming: Incoming, data: bytes) -> TransferStep[RequesterTransfer]:
        piece = self._read(data)
        if not isinstance(piece, messages.ChunkResponse):
            if isinstance(piece, messages.Error):
                return TransferStep(replace(self, incoming=None), whole=data)
            raise UnexpectedMessageError("CHUNK_RESPONSE", type(piece).__name__)
        incoming = incoming.add(piece)
        if not incoming.is_finished:
            return self._get(incoming)
        _insist_plain(incoming.data)
        return TransferStep(replace(self, incoming=None), whole=incoming.data)


@dataclass(frozen=True, slots=True)
class ResponderTransfer(_Transfer):
    """The responder's transfer state.

    That is a request being reassembled (CHUNK_SEND) or deferred, and a response being fetched (CHUNK_GET).
    """

    acknowledging: messages.ChunkSend | None = None  #: The last piece of the request that is to be answered.
    waiting: bytes = b""  #: The request that was put off.
    token: int = 0
    deferrals: int = 0

    def take(self, data: bytes) -> TransferStep[ResponderTransfer]:
        """Handle bytes from the requester.

        Raises TransferError if its pieces do not fit; UnexpectedMessageError if it turns to something else before a
        message in pieces, or one that waits, is done; MalformedError if it cannot be read.
        """
        code = _code(data)
        if code == messages.ChunkSend.CODE and self.sizes.pieces and self.outgoing is None and not self.waiting:
            piece = self._read(data)
            assert isinstance(piece, messages.ChunkSend)
            incoming = (self.incoming or Incoming(piece.handle, self.sizes.own_message)).add(piece)
            if not incoming.is_finished:
                ack = messages.ChunkSendAck(self.version, piece.handle, piece.sequence)
                return TransferStep(replace(self, incoming=incoming), ack.encode())
            _insist_plain(incoming.data)
            return TransferStep(replace(self, incoming=None, acknowledging=piece), whole=incoming.data)
        if code == messages.ChunkGet.CODE and self.outgoing is not None:
            return self._hand_out(self.outgoing, data)
        if code == messages.RespondIfReady.CODE and self.waiting:
            asked = self._read(data)
            assert isinstance(asked, messages.RespondIfReady)
            if (asked.request_code, asked.token) != (_code(self.waiting), self.token):
                raise UnexpectedMessageError(
                    f"request {_code(self.waiting)}, token {self.token}", f"{asked.request_code}, token {asked.token}"
                )
            return TransferStep(replace(self, waiting=b""), whole=self.waiting)
        _insist_plain(data)
        if self.incoming is not None or self.outgoing is not None or self.waiting:
            raise UnexpectedMessageError("the rest of a message, or RESPOND_IF_READY", f"message {code}")
        return TransferStep(self, whole=data)

    def _hand_out(self, outgoing: Outgoing, data: bytes) -> TransferStep[ResponderTransfer]:
        asked = self._read(data)
        assert isinstance(asked, messages.ChunkGet)
        if (asked.handle, asked.sequence) != (outgoing.handle, outgoing.sequence):
            raise TransferError(f"asked for piece {asked.sequence} of message {asked.handle}")
        moved, piece = outgoing.piece(messages.ChunkResponse, self.version)
        return TransferStep(replace(self, outgoing=None if moved.is_finished else moved), piece.encode())

    def put(self, response: bytes) -> TransferStep[ResponderTransfer]:
        """Send the response to the last request. Raises TransferError if it is too long for the peer."""
        return replace(self, deferrals=0)._answer(response)

    def put_off(self, request: bytes, why: PutOffError) -> TransferStep[ResponderTransfer]:
        """Defer the answer to a request. Raises TransferError if it was deferred too often."""
        if self.deferrals == MOST_TRIES or request[_CODE_AT] in _NEVER_LATE:
            raise TransferError(f"{why}, for request {request[_CODE_AT]:#04x}, {self.deferrals} times") from why
        counted = replace(self, deferrals=self.deferrals + 1)
        if isinstance(why, BusyError):
            return counted._answer(messages.Error(self.version, messages.ErrorCode.BUSY).encode())
        assert isinstance(why, NotReadyError)
        late = messages.NotReady(why.exponent, request[_CODE_AT], (self.token + 1) & 0xFF, _MULTIPLIER)
        waiting = replace(counted, waiting=request, token=late.token)
        return waiting._answer(
            messages.Error(self.version, messages.ErrorCode.RESPONSE_NOT_READY, extended=late.encode()).encode()
        )

    def _answer(self, response: bytes) -> TransferStep[ResponderTransfer]:
        if self.acknowledging is None:
            return TransferStep(self, response) if self.sizes.fits(response) else self._announce(response)
        ack = messages.ChunkSendAck(self.version, self.acknowledging.handle, self.acknowledging.sequence, response)
        plain = replace(self, acknowledging=None)
        if self.sizes.fits(ack.encode()):
            return TransferStep(plain, ack.encode())
        announced = plain._announce(response)
        assert announced.send is not None
        return announced._replace(send=replace(ack, response=announced.send).encode())

    def _announce(self, response: bytes) -> TransferStep[ResponderTransfer]:
        error = messages.Error(self.version, messages.ErrorCode.LARGE_RESPONSE, extended=bytes([self.handle]))
        kept = replace(self, outgoing=self._in_pieces(response), handle=self.handle + 1 & 0xFF)
        return TransferStep(kept, error.encode())


_HEADER_BYTES: Final = 8
_CARRIER_BYTES: Final = 8  #: What an encapsulated message has around it, at most.


def portion_of(
    chain: bytes, request: messages.GetCertificate, sizes: Sizes, *, carried: bool = False
) -> messages.Certificate:
    """Return the requested portion of a chain, or as much of it as fits into the peer's limits.

    Raises MalformedError if there is no such portion.
    """
    if request.slot or request.offset >= len(chain) or not request.length:
        raise MalformedError("GET_CERTIFICATE", "a portion of slot 0", f"{request.length} bytes at {request.offset}")
    length = request.length
    if (longest := sizes.longest) is not None:
        length = min(length, longest - _HEADER_BYTES - (_CARRIER_BYTES if carried else 0))
    portion = chain[request.offset : request.offset + length]
    return messages.Certificate(request.version, 0, portion, len(chain) - request.offset - len(portion))
