#!/bin/sh
# Tool:  packageurl-python 0.17.6 and packageurl-js 2.0.1 (npm), 2026-11-29.
# Guess: both write the one canonical text of a package URL, so that a component of one bill of materials is found in another.
# Seen:  a qualifier with a checksum or an address has its colons and slashes as they are from the one, and percent-encoded from the other;
#        a plus sign of a version is encoded by the first alone. Each reads both.
# So:    package URLs of two tools are compared part by part, after they are read.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
npm install -q packageurl-js@2.0.1 --no-audit --no-fund >downloads 2>&1
python3.11 -m venv venv
venv/bin/pip install -q packageurl-python==0.17.6
cat >purls <<'EOF'
pkg:generic/firmware@1.0
pkg:generic/firmware@1.0?checksum=sha256:ab
pkg:generic/firmware@1.0?download_url=https://example.org/firmware
pkg:generic/firmware@1.0+5
EOF
cat >write.py <<'PYTHON'
import sys

from packageurl import PackageURL

for line in sys.stdin:
    print(PackageURL.from_string(line.strip()).to_string())
PYTHON
cat >write.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import { PackageURL } from "packageurl-js";

for (const line of readFileSync(0, "utf8").trim().split("\n")) console.log(PackageURL.fromString(line).toString());
JAVASCRIPT
venv/bin/python write.py <purls >first
node write.mjs <purls >second
cat >expected <<'EOF'
pkg:generic/firmware@1.0
pkg:generic/firmware@1.0?checksum=sha256:ab
pkg:generic/firmware@1.0?download_url=https://example.org/firmware
pkg:generic/firmware@1.0%2B5
EOF
cmp first expected
cat >expected <<'EOF'
pkg:generic/firmware@1.0
pkg:generic/firmware@1.0?checksum=sha256%3Aab
pkg:generic/firmware@1.0?download_url=https%3A%2F%2Fexample.org%2Ffirmware
pkg:generic/firmware@1.0+5
EOF
cmp second expected
venv/bin/python write.py <second | cmp - first
node write.mjs <first | cmp - second
echo "holds: purl-libraries-write-two-texts"
