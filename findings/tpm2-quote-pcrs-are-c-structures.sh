#!/bin/sh
# Tool:  tpm2-tools 5.4 (Debian's tpm2-tools 5.4-1) with swtpm 0.7.1, 2026-11-29.
# Guess: the file that `tpm2_quote -o` writes by default ("serialized") has the selection and the digests of the PCRs as the
#        TPM sends them: TPML_PCR_SELECTION and TPML_DIGEST, big-endian, without gaps.
# Seen:  it has C structures as they lie in memory: little-endian counts, 132 bytes for a selection of one bank, the number of
#        lists, and lists with room for eight digests of 64 bytes, so 668 bytes for three PCRs.
set -eu
scratch=$(mktemp -d)
trap 'kill "$tpm" 2>/dev/null || :; rm -rf "$scratch"' EXIT
tpm=
cd "$scratch"
apt-get -q download tpm2-tools=5.4-1 >downloads
apt-get -q download libtss2-esys-3.0.2-0=3.2.1-3 >>downloads
apt-get -q download libtss2-mu0=3.2.1-3 >>downloads
apt-get -q download libtss2-rc0=3.2.1-3 >>downloads
apt-get -q download libtss2-sys1=3.2.1-3 >>downloads
apt-get -q download libtss2-tctildr0=3.2.1-3 >>downloads
apt-get -q download libtss2-tcti-swtpm0=3.2.1-3 >>downloads
apt-get -q download libefivar1=37-6 >>downloads
apt-get -q download libtpms0=0.9.2-3.1+deb12u1 >>downloads
apt-get -q download swtpm-libs=0.7.1-1.3 >>downloads
apt-get -q download swtpm=0.7.1-1.3 >>downloads
apt-get -q download libjson-glib-1.0-0=1.6.6-1 >>downloads
for package in *.deb; do dpkg -x "$package" debian; done
libraries="$scratch/debian/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$libraries:$libraries/swtpm"
tpm2() { debian/usr/bin/tpm2 "$@"; }

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1] // 2 * 2)')
mkdir state
debian/usr/bin/swtpm socket --tpm2 --tpmstate dir=state --server "type=tcp,port=$port" --ctrl "type=tcp,port=$((port + 1))" \
    --flags not-need-init,startup-clear >swtpm.log 2>&1 &
tpm=$!
sleep 2
export TPM2TOOLS_TCTI="swtpm:host=127.0.0.1,port=$port"
signs='fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|sign'
tpm2 createprimary -C o -G ecc256:ecdsa-sha256:null -a "$signs" -c key.ctx -Q
tpm2 flushcontext -t
tpm2 pcrextend 16:sha256=0101010101010101010101010101010101010101010101010101010101010101
tpm2 quote -c key.ctx -l sha256:0,1,16 -q 0102 -m message -s signature -o pcrs -g sha256 >printed

python3 - <<'PYTHON'
from hashlib import sha256
from struct import calcsize, unpack_from

SELECTION, LISTS, LIST = "<I" + 16 * "HB4sx", "<I", "<I" + 8 * "H64s"
with open("pcrs", "rb") as file:
    data = file.read()
banks, bank, size, bits = unpack_from("<IHB4s", data)
assert (banks, bank, size, bits) == (1, 0x0B, 3, bytes([3, 0, 1, 0]))
(lists,) = unpack_from(LISTS, data, calcsize(SELECTION))
start = calcsize(SELECTION) + calcsize(LISTS)
count, *fields = unpack_from(LIST, data, start)
assert (lists, count, len(data)) == (1, 3, start + calcsize(LIST))
digests = [value[:length] for length, value in zip(fields[:6:2], fields[1:6:2])]
extended = sha256(bytes(32) + 32 * b"\x01").digest()
assert digests == [bytes(32), bytes(32), extended]
with open("message", "rb") as file:
    assert file.read().endswith(sha256(b"".join(digests)).digest())
PYTHON
echo "holds: tpm2-quote-pcrs-are-c-structures"
