#!/bin/sh
# Tool:  tpm2-tools 5.4 (Debian's tpm2-tools 5.4-1), 2026-11-29.
# Guess: `tpm2_print -t TPMS_ATTEST` prints what any attestation of a TPM says: tpm2_quote, tpm2_certify, tpm2_gettime,
#        tpm2_certifycreation and tpm2_nvcertify write the same structure with another part at its end.
# Seen:  only a quote is printed. For the others the common part is printed, and then "Cannot print unsupported type".
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

python3 - <<'PYTHON'
from struct import pack

def sized(data: bytes) -> bytes:
    return pack(">H", len(data)) + data

name, clock = sized(b"\x00\x0b" + bytes(range(32))), pack(">QIIB", 1000, 3, 4, 1)
ends = {
    "quote": (0x8018, pack(">IHB3s", 1, 0x0B, 3, bytes([1, 0, 0])) + sized(bytes(32))),
    "certify": (0x8017, name + name),
    "gettime": (0x8019, pack(">Q", 2000) + clock + pack(">Q", 5)),
    "certifycreation": (0x801A, name + sized(bytes(32))),
    "nvcertify": (0x8014, name + pack(">H", 0) + sized(b"contents")),
}
for file, (kind, end) in ends.items():
    with open(file, "wb") as out:
        out.write(b"\xffTCG" + pack(">H", kind) + name + sized(b"nonce") + clock + pack(">Q", 5) + end)
PYTHON

debian/usr/bin/tpm2_print -t TPMS_ATTEST quote >out
grep -q 'pcrDigest: 00' out
for other in certify gettime certifycreation nvcertify; do
    code=0
    debian/usr/bin/tpm2_print -t TPMS_ATTEST "$other" >out 2>errors || code=$?
    test "$code" != 0
    grep -q 'resetCount: 3' out
    grep -q 'Cannot print unsupported type' errors
done
echo "holds: tpm2-print-knows-quotes-alone"
