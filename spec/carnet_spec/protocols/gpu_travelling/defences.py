"""Defences: the guards and updates that can be taken away one by one, to see what each is for."""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.gpu_travelling.timed import AGE, LEASE, LIMIT


def declare_defences(draft: Draft) -> None:
    """Declare every defence, and the variant that it belongs to."""
    for id, title, *base in (
        ("gpu-certificate", "the GPU's certificate chain is checked"),
        ("report-nonce", "the report has to answer this session's nonce"),
        ("report-in-session", "the report has to arrive inside the session"),
        ("signer-is-responder", "the report's signer has to be the session's responder"),
        ("mode-check", "the report has to say confidential mode"),
        ("debug-check", "the report has to say that the debug flag is off"),
        ("reference-values", "the report's measurements have to be the reference values of current firmware"),
        ("revocation-check", "the signer's certificate must not be revoked"),
        ("orchestrator-quote", "the holder checks the orchestrator's measurement"),
        ("quote-bound-to-channel", "the quote has to be bound to the channel, after the handshake"),
        ("manifest-check", "the holder checks the job manifest in the quote"),
        ("whole-hand-over", "the instance that takes over has the newest record", "backup-orchestrator"),
        ("retire-before-open", "no engine is opened before the one in use is retired", "retire-then-open"),
        ("one-instance", "the holder checks that the quote is the instance's that the holders agreed on"),
        ("enrolment-check", "the orchestrator checks the holder's enrolment key in the channel"),
        ("rotation-out", "the link key rotates before travelling"),
        ("rotation-in", "the link key rotates at return"),
        ("rotation-in-h2d", "the rotation at return changes the host-to-device half", "sealed-under-master"),
        ("rotation-in-d2h", "the rotation at return changes the device-to-host half"),
        ("rotation-ack", "the orchestrator waits for the acknowledgement of a rotation"),
        ("rotation-before-check", "memory is checked after the rotation at return"),
        ("rotation-before-fence", "contexts are fenced after the rotation at return"),
        ("atomic-rotation", "counters restart only together with a key change"),
        ("wrapped-key-once", "the GPU accepts each key once"),
        ("epochs-increase", "the GPU accepts keys in the order of their epochs"),
        ("fresh-key", "every epoch's key was never used before"),
        ("engine-retirement", "the returned engine is retired, acknowledged", "engine-per-holder"),
        ("no-engine-reload", "copy engines are not loaded again within a session"),
        ("fence", "resident contexts are fenced at return"),
        ("fence-ack", "the orchestrator waits for the acknowledgement of the fence"),
        ("scrub-buffer", "the scrub clears the dataset buffer"),
        ("scrub-workspace", "the scrub clears what training derived"),
        ("scrub-ack", "the scrub has to be acknowledged by the firmware"),
        ("code-reupload", "the code is uploaded again at return"),
        ("code-read-back", "the firmware's digest of the code is compared"),
        ("no-context-left", "the firmware says with the digests that no context is left"),
        ("model-read-back", "the firmware's digest of the model is compared"),
        (
            "saved-digest",
            "the model that comes home is compared, by the firmware's digest, with the version last produced",
        ),
        ("received-count", "the GPU's receive counter is compared with the returned count"),
        ("session-orders", "orders travel inside the session, out of reach of code on the GPU"),
        ("session-acknowledgements", "the firmware acknowledges inside the session, where no code on the GPU can"),
        ("session-sequence", "the firmware carries out the orders of an epoch in their order, each once"),
        ("channel-counter", "each epoch on an engine has a channel counter of its own", "engine-per-holder"),
        ("gpu-implicit-iv", "the GPU decrypts at its own next counter value only"),
        ("sender-iv-monotonic", "senders never use a counter value twice"),
        ("count-handover", "counter values used by the other side are handed over"),
        ("h2d-half-only", "a holder is lent the host-to-device half only"),
        ("launch-key-kept", "the launch key is never lent"),
        ("grant-addressee", "a grant goes to the holder whose key it is"),
        ("address-in-grant", "the buffer's address is stated in the grant"),
        ("grant-once", "a holder accepts a grant once"),
        ("return-authenticated", "a return has to come from the holder"),
        ("fail-stop-on-reset", "a failed session is never continued"),
        ("chunks-pinned", "the orchestrator confirms one chunk for each counter value", "rolled-back-holder"),
        ("erase-after-return", "a holder erases the link key when it gives the GPU back", "late-corruption"),
        ("channel-update", "a holder keeps nothing that opens the grants it had", "late-corruption"),
    ):
        draft.defence(id, title, base=base[0] if base else "")
    for id, title in (
        (AGE, "the age of the evidence is looked at when the GPU is handed over, not only when it is appraised"),
        (LEASE, "custody ends when its lease does"),
        (LIMIT, "a key is used up to its limit only"),
    ):
        draft.defence(id, title, base="engine-per-holder-timed")
