"""Checks a JSON file against a JSON schema, standard library only.

    check-report.py SCHEMA FILE [LENGTH]

Knows the keywords that our schemas use and refuses a schema that uses others,
so that nothing in it is silently ignored. LENGTH is the expected array length.
"""

import json
import re
import sys

KNOWN = {
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "enum",
    "const", "properties", "required", "additionalProperties", "items",
    "minItems", "maxItems", "minimum", "maximum", "pattern",
}  # fmt: skip

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}


def check(value, schema, root, where):
    """Yields one message for each violation."""
    unknown = set(schema) - KNOWN
    if unknown:
        yield f"{where}: schema keyword {sorted(unknown)} is not understood"
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        yield from check(value, target, root, where)
    kinds = schema.get("type")
    if kinds is not None:
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not any(TYPES[kind](value) for kind in kinds):
            yield f"{where}: want {' or '.join(kinds)}, got {value!r}"
            return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{where}: want {schema['const']!r}, got {value!r}"
    if TYPES["number"](value):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{where}: {value} is out of range"
    if isinstance(value, str) and "pattern" in schema:
        if not re.search(schema["pattern"], value):
            yield f"{where}: {value!r} does not match {schema['pattern']}"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: {len(value)} elements"
        for index, element in enumerate(value):
            if "items" in schema:
                yield from check(element, schema["items"], root, f"{where}[{index}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                yield f"{where}: no {key!r}"
        for key, element in value.items():
            if key in properties:
                yield from check(element, properties[key], root, f"{where}.{key}")
            elif schema.get("additionalProperties", True) is False:
                yield f"{where}: unexpected {key!r}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        value = json.load(file)
    errors = list(check(value, schema, schema, "$"))
    if len(sys.argv) > 3 and len(value) != int(sys.argv[3]):
        errors.append(f"want {sys.argv[3]} elements, got {len(value)}")
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
