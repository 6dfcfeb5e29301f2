#!/usr/bin/env python3
"""Writes `src/mercato/openapi.py`: operations and types, out of the OpenAPI document of the server.

    python generate.py [--check]

`--check` writes nothing and exits with 1 when the file is not what the document says. Reads only paths below
`/api/v1` and the schemas that their JSON answers reach, so that other parts of the document may change freely.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCUMENT = HERE.parent.parent / "src" / "api" / "openapi" / "openapi.json"
TARGET = HERE / "src" / "mercato" / "openapi.py"
PREFIX = "/api/v1/"
METHODS = ("get", "post", "put", "patch", "delete")
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
LINE_MAX = 120

HEAD = '''"""Operations and types of the API. Made by `generate.py` out of the OpenAPI document; do not edit."""

# fmt: off
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict


@dataclass(frozen=True)
class Operation:
    """A method on a path."""

    name: str
    method: str
    path: str
    parameters: tuple[str, ...]
    """Names in the query."""
    headers: tuple[str, ...]
    """Headers that the operation reads."""
    body: tuple[str, ...]
    """Fields of the JSON body."""

'''


class Types:
    """TypedDicts of the schemas, the inner ones under the name of their owner."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self.schemas = schemas
        self.written: dict[str, str] = {}

    def of(self, schema: dict[str, Any], name: str) -> str:
        """The annotation of a schema; `name` is for an object without a name of its own."""
        if "$ref" in schema:
            return self.named(schema["$ref"].rsplit("/", 1)[1])
        if "enum" in schema:
            return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
        if "anyOf" in schema:
            return union(self.of(choice, name) for choice in schema["anyOf"])
        kind = schema.get("type")
        if isinstance(kind, list):
            return union(self.of({**schema, "type": one}, name) for one in kind)
        if kind == "array":
            return f"list[{self.of(schema['items'], singular(name))}]"
        if kind == "object":
            return self.object(schema, name)
        return SCALARS.get(kind or "", "Any")

    def named(self, name: str) -> str:
        """A schema with a name. Objects become classes, all others stand for themselves."""
        if name in self.written:
            return name
        schema = self.schemas[name]
        if schema.get("type") == "object":
            return self.object(schema, name)
        return self.of(schema, name)

    def object(self, schema: dict[str, Any], name: str) -> str:
        open_ended = schema.get("additionalProperties")
        if "properties" not in schema or isinstance(open_ended, dict):
            return "dict[str, Any]"
        if name in self.written:
            return name
        self.written[name] = ""
        fields = {field: self.of(part, name + camel(field)) for field, part in schema["properties"].items()}
        required = set(schema.get("required", ()))
        # A place of its own, so that classes stand behind those that they name.
        del self.written[name]
        self.written[name] = typed_dict(name, schema.get("description", ""), fields, required)
        return name


def typed_dict(name: str, description: str, fields: dict[str, str], required: set[str]) -> str:
    if not all(field.isidentifier() for field in fields):
        members = "".join(f'    "{field}": "{kind}",\n' for field, kind in fields.items())
        return f'{name} = TypedDict("{name}", {{\n{members}}})\n"""{description}"""\n'
    must = {field: kind for field, kind in fields.items() if field in required}
    may = {field: kind for field, kind in fields.items() if field not in required}
    if not may:
        return class_text(name, "TypedDict", description, must)
    if not must:
        return class_text(name, "TypedDict, total=False", description, may)
    base = class_text(f"_{name}Required", "TypedDict", f"Fields that every {name} has.", must)
    return f"{base}\n\n{class_text(name, f'_{name}Required, total=False', description, may)}"


def class_text(name: str, bases: str, description: str, fields: dict[str, str]) -> str:
    # `from` cannot be the name of a member of a class.
    if any(field in ("from", "in", "is", "not") for field in fields):
        members = "".join(f'    "{field}": "{kind}",\n' for field, kind in fields.items())
        return f'{name} = TypedDict("{name}", {{\n{members}}})\n"""{description}"""\n'
    members = "".join(f"    {field}: {kind}\n" for field, kind in fields.items())
    return f'class {name}({bases}):\n    """{description}"""\n\n{members}'


def union(kinds: Any) -> str:
    parts: list[str] = []
    for kind in kinds:
        parts += [] if kind in parts else [kind]
    parts.sort(key=lambda kind: kind == "None")
    return "Any" if "Any" in parts else " | ".join(parts)


def camel(field: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", field))


def singular(name: str) -> str:
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def operation(path: str, method: str, told: dict[str, Any], schemas: dict[str, Any]) -> str:
    parameters = [one["name"] for one in told.get("parameters", ()) if one["in"] == "query"]
    headers = [one["name"] for one in told.get("parameters", ()) if one["in"] == "header"]
    body: list[str] = []
    if "requestBody" in told:
        schema = told["requestBody"]["content"]["application/json"]["schema"]
        schema = schemas[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
        body = list(schema.get("properties", ()))
    name = told["operationId"]
    constant = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
    rows = "".join(f"    {tuple(part)!r},\n" for part in (parameters, headers, body))
    return f'{constant} = Operation(\n    "{name}", "{method.upper()}", "{path}",\n{rows})\n'


def generated(document: dict[str, Any]) -> str:
    schemas = document["components"]["schemas"]
    types = Types(schemas)
    operations: list[str] = []
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            if not path.startswith(PREFIX) or method not in METHODS:
                continue
            operations.append(operation(path, method, told, schemas))
            for response in told["responses"].values():
                answer = response.get("content", {}).get("application/json", {}).get("schema", {})
                data = answer.get("properties", {}).get("data")
                if data and "$ref" in data:
                    types.named(data["$ref"].rsplit("/", 1)[1])
    slug = f'SLUG_PATTERN = r"{schemas["Slug"]["pattern"]}"\n'
    limits = "".join(
        f"{constant} = {schemas[body]['properties']['limit']['maximum']}\n"
        for constant, body in (("PAGE_ROWS_MAX", "QueryBody"), ("STREAM_ROWS_MAX", "StreamBody")))
    return HEAD + "\n" + "\n".join(operations) + "\n" + slug + limits + "\n\n" + "\n\n".join(types.written.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="compare only")
    arguments = parser.parse_args()
    text = generated(json.loads(DOCUMENT.read_text()))
    if arguments.check:
        if TARGET.read_text() == text:
            return 0
        print(f"{TARGET} is not what {DOCUMENT} says: run {Path(__file__).name}", file=sys.stderr)
        return 1
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
