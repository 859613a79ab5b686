#!/bin/sh
# Tool:  uswid 0.6.0, 2026-11-28.
# Guess: a SWID tag that is loaded and saved keeps the files of its payload with their hashes, and its language.
# Seen:  of a File, the SHA-384 is dropped without a word, and so is every File that is not inside a Directory, though
#        both are in ISO/IEC 19770-2. The language becomes en-US whatever it was. NVIDIA's reference manifests are SWID
#        tags with SHA-384.
# So:    reference values are taken from the tag as it was published, never from one that a tool has saved again.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q uswid==0.6.0
digest=$(printf test | sha384sum | cut -d' ' -f1)
short=$(printf test | sha256sum | cut -d' ' -f1)
cat >"$scratch/tag.xml" <<EOF
<?xml version="1.0" encoding="UTF-8"?>
<SoftwareIdentity xmlns="http://standards.iso.org/iso/19770/-2/2015/schema.xsd"
    xmlns:SHA256="http://www.w3.org/2001/04/xmlenc#sha256" xmlns:SHA384="http://www.w3.org/2001/04/xmldsig-more#sha384"
    name="Firmware" tagId="EX_1" version="1" xml:lang="fr">
  <Entity name="Example" regid="example.com" role="softwareCreator tagCreator"/>
  <Payload>
    <File name="outside.bin" size="4" SHA256:hash="$short"/>
    <Directory name="fw"><File name="inside.bin" size="4" SHA256:hash="$short" SHA384:hash="$digest"/></Directory>
  </Payload>
</SoftwareIdentity>
EOF
"$scratch/venv/bin/uswid" --load "$scratch/tag.xml" --save "$scratch/again.xml" >/dev/null
grep -q 'name="inside.bin"' "$scratch/again.xml"
grep -q "$short" "$scratch/again.xml"
grep -q 'xml:lang="en-US"' "$scratch/again.xml"
! grep -q "$digest" "$scratch/again.xml" || exit 1
! grep -q 'outside.bin' "$scratch/again.xml" || exit 1
echo "holds: uswid-drops-sha384"
