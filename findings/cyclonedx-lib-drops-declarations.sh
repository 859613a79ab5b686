#!/bin/sh
# Tool:  cyclonedx-python-lib 11.12.0, 2026-11-29.
# Guess: a BOM of CycloneDX 1.6 that is read and written again has what it had, or is refused.
# Seen:  its declarations (the attestations, with their assessors, claims and evidence), annotations, compositions and formulation
#        are gone, without a message. The standards that the attestations speak of are kept.
# So:    a document with attestations is not passed through this library.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q cyclonedx-python-lib==11.12.0 'cyclonedx-python-lib[json-validation]'
venv/bin/python -W error::UserWarning - >out 2>&1 <<'PYTHON'
import json

from cyclonedx.model.bom import Bom
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

attestation = {"assessor": "us", "map": [{"requirement": "r", "claims": ["c"], "conformance": {"score": 1}}]}
bom = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "version": 1,
    "serialNumber": "urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79",
    "components": [{"type": "firmware", "name": "a", "version": "1", "bom-ref": "a"}],
    "declarations": {
        "assessors": [{"bom-ref": "us", "thirdParty": False}],
        "attestations": [attestation],
        "claims": [{"bom-ref": "c", "target": "a", "predicate": "it is measured"}],
    },
    "definitions": {
        "standards": [{"bom-ref": "s", "name": "S", "requirements": [{"bom-ref": "r", "identifier": "1", "title": "r"}]}]
    },
    "annotations": [
        {"subjects": ["a"], "annotator": {"individual": {"name": "n"}}, "timestamp": "2026-01-01T00:00:00Z", "text": "t"}
    ],
    "formulation": [{"bom-ref": "f"}],
    "compositions": [{"aggregate": "complete", "assemblies": ["a"]}],
}
assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bom)) is None
written = json.loads(make_outputter(Bom.from_json(bom), OutputFormat.JSON, SchemaVersion.V1_6).output_as_string())
assert set(bom) - set(written) == {"declarations", "annotations", "compositions", "formulation"}
assert written["definitions"] == bom["definitions"]
PYTHON
test ! -s out
echo "holds: cyclonedx-lib-drops-declarations"
