#!/bin/sh
# Tool:  junitparser 5.0.3, 2026-11-29.
# Guess: `junitparser verify` ends with another code than 0 if a report says that tests failed, or has none.
# Seen:  it ends with 0 for a report without tests, and for one in which all were skipped. It looks at the cases alone: where a
#        suite says `failures="1" errors="1"` and lists what passed, as after a crash, it ends with 0. `merge` writes the counts anew,
#        and then nothing says any more that something failed.
# So:    a gate of CI also counts the tests that it expects.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q junitparser==5.0.3
echo '<testsuites/>' >none.xml
cat >skipped.xml <<'XML'
<testsuite name="s" tests="1" skipped="1" failures="0" errors="0"><testcase name="a"><skipped/></testcase></testsuite>
XML
cat >crashed.xml <<'XML'
<testsuite name="s" tests="3" failures="1" errors="1"><testcase name="a"/></testsuite>
XML
cat >failed.xml <<'XML'
<testsuite name="s" tests="1" failures="1" errors="0"><testcase name="a"><failure/></testcase></testsuite>
XML
for report in none skipped crashed; do venv/bin/junitparser verify "$report.xml"; done
code=0
venv/bin/junitparser verify failed.xml || code=$?
test "$code" = 1
venv/bin/junitparser merge crashed.xml skipped.xml merged.xml
grep -q '<testsuites tests="2" failures="0" errors="0" skipped="1"' merged.xml
echo "holds: junitparser-verify-passes-without-tests"
