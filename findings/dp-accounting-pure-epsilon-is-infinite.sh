#!/bin/sh
# Tool:  dp-accounting 0.6.0, 2026-11-29.
# Guess: the mechanism of Laplace with noise of scale 1 has epsilon 1 at delta 0, as its definition has it, to every accountant.
# Seen:  at delta 0 the epsilon is infinite to both accountants. That of privacy loss distributions has 1 from a delta of 1e-15 on, and
#        infinity below: it gives up a mass of 1e-15, so that delta is that at least, even for an epsilon of 1.5. With Gaussian
#        noise it has 8.2 at 1e-15, and infinity at 1e-16, where the accountant of Rényi divergences has 8.7.
# So:    pure privacy is added up by hand, and infinity at a small delta says something of the accountant.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q dp-accounting==0.6.0
venv/bin/python -W ignore - <<'EOF'
from math import inf

from dp_accounting import GaussianDpEvent, LaplaceDpEvent
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

laplace, gaussian = LaplaceDpEvent(1.0), GaussianDpEvent(1.0)
assert PLDAccountant().compose(laplace).get_epsilon(0) == inf
assert RdpAccountant().compose(laplace).get_epsilon(0) == inf
assert PLDAccountant().compose(laplace).get_epsilon(1e-16) == inf
assert abs(PLDAccountant().compose(laplace).get_epsilon(1e-15) - 1) < 1e-9
assert 0 < PLDAccountant().compose(laplace).get_delta(1.5) < 2e-15
assert 8.2 < PLDAccountant().compose(gaussian).get_epsilon(1e-15) < 8.3
assert PLDAccountant().compose(gaussian).get_epsilon(1e-16) == inf
assert 8.7 < RdpAccountant().compose(gaussian).get_epsilon(1e-16) < 8.8
EOF
echo "holds: dp-accounting-pure-epsilon-is-infinite"
