"""The verifier of XML signatures of `signxml`, with its schema read as what it is: UTF-8.

`signxml` opens the file in the encoding of the locale, which is ASCII in many containers. The schema has another
character in a comment, so that no signature at all would verify there.
"""

from functools import cache
from importlib import resources
from typing import Final

from lxml import etree
from signxml.verifier import XMLVerifier

SCHEMAS: Final = "signxml.schemas"


class LocaleFreeVerifier(XMLVerifier):
    """A verifier whose schemas do not depend on the locale."""

    @classmethod
    def schemas(cls) -> list[etree.XMLSchema]:
        """Return the schemas that a signature has to keep to one of."""
        return [_schema(file) for file in cls.schema_files]


@cache
def _schema(file: str) -> etree.XMLSchema:
    """Read a schema by the encoding that it declares, with those beside it that it imports."""
    with resources.as_file(resources.files(SCHEMAS) / file) as path:
        return etree.XMLSchema(etree.parse(path))
