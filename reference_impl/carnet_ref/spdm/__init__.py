"""SPDM: the protocol that authenticates a device, reports what runs on it, and opens a protected session with it.

`endpoints` has the two ends, without input or output. What is allowed, and no less than which, is a `profile.Profile`.
The established session is a `session.GpuSession`, and a report that came inside it a `session.SessionReport`.
"""
