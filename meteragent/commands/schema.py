"""`schema`: the JSON Schema of what is read or written."""

import json
import sys
from argparse import Namespace

from meteragent.commands.exit_codes import Exit
from meteragent.explain import document
from meteragent.formats import schema

SCHEMAS = {
    "reading": schema.reading_schema,
    "release": schema.release_schema,
    "policy": schema.policy_schema,
    "reject": schema.reject_schema,
    "explanation": document.explanation_schema,
}


def run(arguments: Namespace) -> Exit:
    """Print one of them."""
    sys.stdout.write(json.dumps(SCHEMAS[arguments.name](), indent=2, ensure_ascii=False) + "\n")
    return Exit.OK
