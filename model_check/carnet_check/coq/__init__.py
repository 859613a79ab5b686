"""Certificates and specifications for Coq: as files that Coq compiles into theorems, and as input of its program.

Nothing here is trusted but what :mod:`carnet_check.exports.systems` and :mod:`carnet_check.exports.coq_data` write. A
certificate that is converted wrongly is refused.
"""
