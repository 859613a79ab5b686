"""Carnet's ends talk to DMTF's emulator: sessions, challenges, measurements, mutual authentication and pieces."""

import os
from dataclasses import replace
from typing import Any

import pytest

from carnet_ref.spdm import machine
from carnet_ref.spdm.endpoints import Requester, Responder
from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.messages import MutualRequest, Summary
from carnet_ref.spdm.profile import CURRENT, Profile
from carnet_ref.spdm.requester import RequesterConfig
from carnet_ref.spdm.responder import MutualAuthentication, ResponderConfig
from carnet_ref.spdm.session import BlockReporter
from tests.evidence import spdm_emulator as emulator
from tests.fixtures.spdm import BLOCKS

pytestmark = pytest.mark.skipif(emulator.FOLDER is None, reason="CARNET_SPDM_EMULATOR names no folder")

VERSIONS = {"1.1": Version.V1_1, "1.2": Version.V1_2, "1.3": Version.V1_3, "1.4": Version.V1_4}
MODES = {"WO_ENCAP": MutualRequest.PROVISIONED, "W_ENCAP": MutualRequest.ENCAPSULATED, "DIGESTS": MutualRequest.DIGESTS}
ANYTHING = Profile("any", tuple(VERSIONS.values()), CURRENT.abilities, message=CURRENT.message)


def requester(**settings: Any) -> Requester:
    return Requester(replace(RequesterConfig(emulator.trust, os.urandom, ANYTHING), **settings))


def responder(**settings: Any) -> Responder:
    key = emulator.device_key()
    certificates = emulator.certificates("ecp384", "responder")
    reporter = BlockReporter(key, lambda: BLOCKS, os.urandom)
    config = ResponderConfig(certificates, key, reporter, os.urandom, ANYTHING)
    return Responder(replace(config, **settings))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_requester_challenges_measures_and_uses_the_emulated_device(version: str) -> None:
    ours = requester(challenge=True, session=False, summary=Summary.ALL)
    with emulator.responder_emulator("--ver", version, "--cap", emulator.ANSWERING, "--mut_auth", "NO") as wire:
        (found,) = emulator.ask(wire, ours, machine.Begin())
        assert isinstance(found, machine.Identified)
        assert found.challenged
        (outside,) = emulator.ask(wire, ours, machine.Measure(bytes(32)))
        assert isinstance(outside, machine.MeasuredOutside)
        (opened,) = emulator.ask(wire, ours, machine.OpenSession())
        assert isinstance(opened, machine.Opened)
        assert opened.session.version is VERSIONS[version]
        assert opened.session.summary == found.summary != b""
        (inside,) = emulator.ask(wire, ours, machine.Measure(bytes(32)))
        assert isinstance(inside, machine.Measured)
        inside.report.check_signature(opened.session.version, opened.session.responder)
        assert emulator.ask(wire, ours, machine.Beat()) == []
        assert emulator.ask(wire, ours, machine.UpdateKeys(both=False)) == [machine.KeysUpdated()]
        assert emulator.ask(wire, ours, machine.UpdateKeys()) == [machine.KeysUpdated()]
        assert emulator.ask(wire, ours, machine.End()) == [machine.Closed(None)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_requester_proves_to_the_emulated_device_who_it_is(version: str, mode: str) -> None:
    ours = requester(identity=emulator.requester_identity())
    with emulator.responder_emulator(
        "--ver", version, "--cap", f"{emulator.ANSWERING},MUT_AUTH,ENCAP", "--mut_auth", mode
    ) as wire:
        _, opened = emulator.ask(wire, ours, machine.Begin())
        assert isinstance(opened, machine.Opened)
        assert opened.session.requester is not None
        assert emulator.ask(wire, ours, machine.Beat()) == []


@pytest.mark.parametrize("transfer", [64, 300, 1000])
@pytest.mark.parametrize("version", ["1.2", "1.3", "1.4"])
def test_the_requester_takes_large_messages_in_pieces(version: str, transfer: int) -> None:
    ours = requester(challenge=True, profile=replace(ANYTHING, transfer=transfer))
    with emulator.responder_emulator(
        "--ver", version, "--cap", f"{emulator.ANSWERING},CHUNK", "--mut_auth", "NO"
    ) as wire:
        _, opened = emulator.ask(wire, ours, machine.Begin())
        assert isinstance(opened, machine.Opened)
        (inside,) = emulator.ask(wire, ours, machine.Measure(bytes(32)))
        assert isinstance(inside, machine.Measured)
        inside.report.check_signature(opened.session.version, opened.session.responder)


@pytest.mark.parametrize("operation", ["ONE_BY_ONE", "ALL"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_emulated_requester_challenges_measures_and_uses_the_responder(version: str, operation: str) -> None:
    theirs = responder()
    happened, code, printed = emulator.serve(
        theirs,
        *("--ver", version, "--cap", emulator.ASKING, "--meas_op", operation, "--meas_sum", "ALL"),
        *("--exe_conn", "DIGEST,CERT,CHAL,MEAS", "--exe_session", "KEY_EX,KEY_UPDATE,HEARTBEAT,MEAS"),
    )
    assert code == 0, printed[-3000:]
    assert [type(each) for each in happened] == [machine.Opened, machine.KeysUpdated, machine.Closed], printed[-3000:]
    assert "ERROR" not in printed


@pytest.mark.parametrize("update", ["REQ", "ALL"])
def test_the_emulated_requester_updates_one_direction_or_both(update: str) -> None:
    happened, code, printed = emulator.serve(
        responder(),
        *("--ver", "1.2", "--cap", emulator.ASKING, "--key_upd", update, "--exe_conn", "DIGEST,CERT"),
        *("--exe_session", "KEY_EX,KEY_UPDATE,HEARTBEAT"),
    )
    assert code == 0, printed[-3000:]
    assert [type(each) for each in happened] == [machine.Opened, machine.KeysUpdated, machine.Closed], printed[-3000:]


@pytest.mark.parametrize("mode", MODES.values(), ids=lambda mode: mode.name)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_emulated_requester_proves_who_it_is(version: str, mode: MutualRequest) -> None:
    provisioned = emulator.requester_identity().chain if mode is MutualRequest.PROVISIONED else b""
    happened, code, printed = emulator.serve(
        responder(mutual=MutualAuthentication(emulator.trust, mode, provisioned)),
        *(
            "--ver",
            version,
            "--cap",
            f"{emulator.ASKING},MUT_AUTH,ENCAP",
            "--exe_conn",
            "DIGEST,CERT",
            "--exe_session",
            "KEY_EX,HEARTBEAT",
        ),
    )
    assert code == 0, printed[-3000:]
    opened = happened[0]
    assert isinstance(opened, machine.Opened), printed[-3000:]
    assert opened.session.requester is not None
    assert opened.session.requester.certificates == emulator.requester_identity().certificates


@pytest.mark.parametrize("transfer", [64, 300, 1000])
def test_the_emulated_requester_sends_large_messages_in_pieces(transfer: int) -> None:
    mode = MutualAuthentication(emulator.trust, MutualRequest.ENCAPSULATED)
    happened, code, printed = emulator.serve(
        responder(mutual=mode, profile=replace(ANYTHING, transfer=transfer)),
        *("--ver", "1.2", "--cap", f"{emulator.ASKING},MUT_AUTH,ENCAP,CHUNK", "--exe_conn", "DIGEST,CERT,CHAL"),
        *("--exe_session", "KEY_EX,HEARTBEAT,MEAS"),
    )
    assert code == 0, printed[-3000:]
    assert [type(each) for each in happened] == [machine.Opened, machine.Closed], printed[-3000:]
    assert "CHUNK_SEND" in printed
