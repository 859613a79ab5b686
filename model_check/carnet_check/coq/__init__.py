"""Certificates and specifications for Coq: as files that Coq compiles into theorems, and as input of the Coq program.

Only what :mod:`carnet_check.exports.systems` and :mod:`carnet_check.exports.coq_data` write is trusted. A certificate
that this package converts wrongly is refused.
"""
