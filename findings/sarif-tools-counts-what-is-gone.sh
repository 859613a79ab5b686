#!/bin/sh
# Tool:  sarif-tools 3.0.5, 2026-11-28.
# Guess: its summary counts the results that stand.
# Seen:  a result whose baselineState is "absent" (SARIF 2.1.0, section 3.27.24: it was there before, and is not now) and
#        one with an accepted suppression (section 3.27.23) count like any other. A result without ruleId, which section
#        3.27.5 allows where ruleIndex names the rule, ends in KeyError.
# So:    a log for such tools names its rules by id, and leaves out what no longer stands.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q sarif-tools==3.0.5
log() {
    printf '{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "t", "rules": [{"id": "R1"}]}}, "results": [%s]}]}' "$1"
}
log '{"ruleId": "R1", "level": "error", "baselineState": "absent", "message": {"text": "gone"}},
     {"ruleId": "R1", "level": "error", "suppressions": [{"kind": "external", "status": "accepted"}],
      "message": {"text": "accepted"}}' >"$scratch/gone.sarif"
"$scratch/venv/bin/sarif" summary "$scratch/gone.sarif" | grep -q "error: 2"
log '{"ruleIndex": 0, "level": "error", "message": {"text": "by index"}}' >"$scratch/index.sarif"
! "$scratch/venv/bin/sarif" summary "$scratch/index.sarif" 2>"$scratch/said" >&2 || exit 1
grep -q "KeyError: 'ruleId'" "$scratch/said"
echo "holds: sarif-tools-counts-what-is-gone"
