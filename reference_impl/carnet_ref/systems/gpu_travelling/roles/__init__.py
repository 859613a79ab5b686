"""The roles: orchestrator, holder and GPU, each a state machine without input or output of its own.

A role takes an event and gives effects; what carries messages, keeps a journal or writes a trace is elsewhere. What a
role has established is a fact (module `facts`), which only the check that establishes it can make, and which
the next step asks for.
"""
