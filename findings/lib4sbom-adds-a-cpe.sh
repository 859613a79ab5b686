#!/bin/sh
# Tool:  lib4sbom 0.10.4, 2026-11-29.
# Guess: a package of SPDX that is written as CycloneDX says what it said before.
# Seen:  it has a CPE that nobody gave it, made of supplier, name and version, and it is that of an application (part 'a'), though the
#        package is firmware and the component's type is firmware. What looks for vulnerabilities by CPE finds those of another thing.
# So:    identifiers in a converted document are compared with those of its source.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q lib4sbom==0.10.4
cat >source.spdx.json <<'JSON'
{"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "d",
 "documentNamespace": "https://example.com/d",
 "creationInfo": {"created": "2026-01-01T00:00:00Z", "creators": ["Tool: t"]},
 "packages": [{"SPDXID": "SPDXRef-P", "name": "vbios", "versionInfo": "96.00", "supplier": "Organization: Example",
               "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "primaryPackagePurpose": "FIRMWARE"}],
 "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-P"}]}
JSON
venv/bin/python - >written.json <<'PYTHON'
from lib4sbom.generator import SBOMGenerator
from lib4sbom.parser import SBOMParser

parser = SBOMParser()
parser.parse_file("source.spdx.json")
SBOMGenerator(sbom_type="cyclonedx", format="json").generate("project", parser.get_sbom())
PYTHON
test "$(grep -c cpe source.spdx.json)" = 0
grep -q '"type": "firmware"' written.json
grep -q '"cpe": "cpe:/a:Example:vbios:96.00"' written.json
echo "holds: lib4sbom-adds-a-cpe"
