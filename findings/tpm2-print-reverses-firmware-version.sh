#!/bin/sh
# Tool:  tpm2-tools 5.4 (Debian's tpm2-tools 5.4-1), 2026-11-29.
# Guess: tpm2_print writes the firmwareVersion of a quote (TPMS_ATTEST, a big-endian UINT64) as the number it is.
# Seen:  its bytes are in reverse: 0x0102030405060708 is written as 0807060504030201, while the clock and both counters beside
#        it are right.
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
magic, quote, signer, nonce = "ff544347", "8018", "0022" + "000b" + 32 * "aa", "0002" + "0102"
clock, resets, restarts, safe = "0000000000000100", "00000002", "00000003", "01"
firmware, one_bank = "0102030405060708", "00000001" + "000b" + "03" + "010000"
digest = "0020" + 32 * "bb"
with open("quote", "wb") as file:
    file.write(bytes.fromhex(magic + quote + signer + nonce + clock + resets + restarts + safe + firmware + one_bank + digest))
PYTHON

debian/usr/bin/tpm2 print -t TPMS_ATTEST quote >printed
grep -q '^  clock: 256$' printed
grep -q '^  resetCount: 2$' printed
grep -q '^  restartCount: 3$' printed
grep -q '^firmwareVersion: 0807060504030201$' printed
echo "holds: tpm2-print-reverses-firmware-version"
