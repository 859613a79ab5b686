#!/bin/sh
# Tool:  tpm2-tools 5.4 (Debian's tpm2-tools 5.4-1), 2026-11-29.
# Guess: of a firmware log with a StartupLocality event, tpm2_eventlog computes PCR 0 as a TPM has it: it starts at the
#        locality, and EV_NO_ACTION extends nothing.
# Seen:  it neither starts at the locality nor leaves the event out. It extends PCR 0 by the event's digest of zeros, so
#        that the value is wrong for locality 0, too. Any EV_NO_ACTION event behind the first does this to its PCR.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download tpm2-tools=5.4-1 >downloads
apt-get -q download libtss2-esys-3.0.2-0=3.2.1-3 >>downloads
apt-get -q download libtss2-mu0=3.2.1-3 >>downloads
apt-get -q download libtss2-rc0=3.2.1-3 >>downloads
apt-get -q download libtss2-sys1=3.2.1-3 >>downloads
apt-get -q download libtss2-tctildr0=3.2.1-3 >>downloads
apt-get -q download libefivar1=37-6 >>downloads
for package in *.deb; do dpkg -x "$package" debian; done
export LD_LIBRARY_PATH="$scratch/debian/usr/lib/x86_64-linux-gnu"

cat >log.py <<'PYTHON'
import sys
from hashlib import sha256

SHA256, NO_ACTION, CRTM_VERSION = 0x0B, 3, 8


def u32(*numbers):
    return b"".join(number.to_bytes(4, "little") for number in numbers)


def event(kind, digest, data):
    return u32(0, kind, 1) + SHA256.to_bytes(2, "little") + digest + u32(len(data)) + data


locality = int(sys.argv[1])
header = b"Spec ID Event03\0" + u32(0) + bytes([0, 2, 0, 2]) + u32(1) + b"\x0b\0\x20\0" + b"\0"
version = "1.0\0".encode("utf-16-le")
extended = sha256(version).digest()
with open("log", "wb") as log:
    log.write(u32(0, NO_ACTION) + bytes(20) + u32(len(header)) + header)
    log.write(event(NO_ACTION, bytes(32), b"StartupLocality\0" + bytes([locality])))
    log.write(event(CRTM_VERSION, extended, version))
start = bytes(31) + bytes([locality])
print(sha256(start + extended).hexdigest(), sha256(sha256(bytes(64)).digest() + extended).hexdigest())
PYTHON

for locality in 0 3; do
    python3 log.py "$locality" >values
    read -r right seen <values
    debian/usr/bin/tpm2 eventlog log >printed
    grep -q "EventType: EV_S_CRTM_VERSION" printed
    grep -q "0  : 0x$seen\$" printed
    test "$(grep -c "$right" printed)" = 0
done
echo "holds: tpm2-eventlog-extends-no-action"
