"""DMTF's SPDM emulator as the peer of Carnet's ends, over a socket.

``CARNET_SPDM_EMULATOR`` names the folder that holds ``spdm_requester_emu``, ``spdm_responder_emu`` and libspdm's
published test keys. Source: DMTF spdm-emu, doc/spdm_emu.md, for what the socket carries.
"""

import os
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, load_der_private_key

from carnet_ref.spdm.endpoints import Requester, Responder
from carnet_ref.spdm.errors import UntrustedChainError
from carnet_ref.spdm.machine import Ended, Received, Send, SessionEffect, SessionEvent
from carnet_ref.spdm.requester import RequesterIdentity

FOLDER: Final = os.environ.get("CARNET_SPDM_EMULATOR")
NORMAL, SHUTDOWN, HELLO = 0x0001, 0xFFFE, 0xDEAD
_MCTP: Final = 1
_SECONDS: Final = 10
SUITE: Final = (
    *("--hash", "SHA_384", "--asym", "ECDSA_P384", "--dhe", "SECP_384_R1", "--aead", "AES_256_GCM"),
    *("--req_asym", "RSAPSS_3072", "--meas_hash", "SHA_384", "--pqc_asym", "NONE", "--req_pqc_asym", "NONE"),
    *("--kem", "NONE", "--other_param", "OPAQUE_FMT_1", "--basic_mut_auth", "NO"),
)
ASKING: Final = "CERT,CHAL,ENCRYPT,MAC,KEY_EX,HBEAT,KEY_UPD"
#: What the emulated requester and the emulated device are able to do, for their option ``--cap``.
ANSWERING: Final = f"{ASKING},MEAS_SIG,MEAS_FRESH"


def _folder() -> Path:
    assert FOLDER is not None
    return Path(FOLDER)


def certificates(folder: str, name: str) -> tuple[x509.Certificate, ...]:
    """Return a published chain, root first."""
    rest, found = (_folder() / folder / f"bundle_{name}.certchain.der").read_bytes(), []
    while rest:
        size = 4 + int.from_bytes(rest[2:4], "big")
        found.append(x509.load_der_x509_certificate(rest[:size]))
        rest = rest[size:]
    return tuple(found)


def device_key() -> ec.EllipticCurvePrivateKey:
    key = load_der_private_key((_folder() / "ecp384" / "end_responder.key.der").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def requester_identity() -> RequesterIdentity:
    key = load_der_private_key((_folder() / "rsa3072" / "end_requester.key.der").read_bytes(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return RequesterIdentity(certificates("rsa3072", "requester"), key)


def trust(found: tuple[x509.Certificate, ...]) -> None:
    """Trust what the published roots issued."""
    roots = {(_folder() / kind / "ca.cert.der").read_bytes() for kind in ("ecp384", "rsa3072")}
    if found[0].public_bytes(Encoding.DER) not in roots:
        raise UntrustedChainError("another root than the emulator's")
    for issued, issuer in zip(found[1:], found, strict=False):
        issued.verify_directly_issued_by(issuer)


class Wire:
    """The emulator's socket: each message has a command, the kind of transport and its size before it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        connection.settimeout(_SECONDS)

    def send(self, command: int, data: bytes = b"") -> None:
        self._connection.sendall(struct.pack(">III", command, _MCTP, len(data)) + data)

    def receive(self) -> tuple[int, bytes]:
        """Return the next command, with its message."""
        command, _, size = struct.unpack(">III", self._exactly(12))
        return command, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._connection.recv(size - len(data))
            if not more:
                raise ConnectionError("the emulator hung up")
            data += more
        return data


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def responder_emulator(*options: str) -> Iterator[Wire]:
    """Run the emulated device, and connect to it."""
    port = _free_port()
    command = ["./spdm_responder_emu", "--port", str(port), *SUITE, *options]
    with subprocess.Popen(command, cwd=_folder(), stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
        try:
            with _connected(port) as connection:
                wire = Wire(connection)
                wire.send(HELLO, b"Client Hello!\0")
                wire.receive()
                yield wire
                wire.send(SHUTDOWN)
        finally:
            process.kill()


def _connected(port: int) -> socket.socket:
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port), _SECONDS)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise ConnectionError("the emulator does not listen")


def ask(wire: Wire, end: Requester, event: SessionEvent) -> list[SessionEffect]:
    """Let the requester do something with the emulated device; return what came of it but messages."""
    happened: list[SessionEffect] = []
    effects = list(end.handle(event))
    while effects:
        effect = effects.pop(0)
        if not isinstance(effect, Send):
            happened.append(effect)
            continue
        time.sleep(effect.after / 1e6)
        wire.send(NORMAL, effect.data)
        effects += end.handle(Received(wire.receive()[1]))
    return happened


def serve(end: Responder, *options: str) -> tuple[list[SessionEffect], int, str]:
    """Answer the emulated requester; return what happened, its exit code, and what it printed."""
    happened: list[SessionEffect] = []
    with socket.create_server(("127.0.0.1", 0)) as server, TemporaryFile() as printed:
        server.settimeout(_SECONDS)
        command = ["./spdm_requester_emu", "--port", str(server.getsockname()[1]), *SUITE, "-v", *options]
        with subprocess.Popen(command, cwd=_folder(), stdout=printed, stderr=subprocess.STDOUT) as process:
            try:
                connection, _ = server.accept()
                with connection:
                    _answer(Wire(connection), end, happened)
                process.wait(_SECONDS)
            finally:
                process.kill()
        printed.seek(0)
        return happened, process.returncode, printed.read().decode("utf-8", "replace")


def _answer(wire: Wire, end: Responder, happened: list[SessionEffect]) -> None:
    while True:
        command, data = wire.receive()
        if command == HELLO:
            wire.send(HELLO, b"Server Hello!\0")
        elif command != NORMAL:
            wire.send(command)
            return
        elif isinstance(end.state, Ended):
            wire.send(NORMAL, b"")
        else:
            for effect in end.handle(Received(data)):
                if isinstance(effect, Send):
                    wire.send(NORMAL, effect.data)
                else:
                    happened.append(effect)
