#!/bin/sh
# Tool:  tpmstream 0.1.10, 2026-11-29.
# Guess: `tpmstream convert --out binary` writes the bytes that it read, and the exit status tells whether they were a whole
#        structure.
# Seen:  it writes hexadecimal digits, a group for each field; what it wrote can be read again as --in hex alone. For a structure that
#        is cut short, or has bytes behind it, it prints a warning and ends with 0.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q tpmstream==0.1.10 colorama==0.4.6
convert() { venv/bin/tpmstream convert --type TPMS_ATTEST "$@"; }

python3 - <<'PYTHON'
from struct import pack

name, nonce, digest = b"\x00\x0b" + bytes(32), b"nonce", bytes(32)
clock = pack(">QIIBQ", 1000, 3, 4, 1, 5)
selection = pack(">IHB3s", 1, 0x0B, 3, bytes([3, 0, 1]))
sized = [pack(">H", len(part)) + part for part in (name, nonce, digest)]
with open("quote", "wb") as file:
    file.write(b"\xffTCG\x80\x18" + sized[0] + sized[1] + clock + selection + sized[2])
PYTHON
convert --in binary quote >out
grep -q 'TPMI_ST_ATTEST.ATTEST_QUOTE' out

convert --in binary --out binary quote >written
tr -d ' \n' <written | grep -Eq '^ff544347801800220'
test "$(tr -d ' \n' <written | wc -c)" = "$((2 * $(wc -c <quote)))"

head -c 40 quote >cut
convert --in binary cut >out 2>&1
grep -q 'Warning: Input stream exhausted' out
{ cat quote; printf behind; } >longer
convert --in binary longer >out 2>&1
grep -q 'Warning: Parser done but input stream not exhausted' out
echo "holds: tpmstream-binary-is-hexadecimal"
