#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks JSON texts against a schema: schema_check.py SCHEMA FILE...

Knows the part of JSON Schema 2020-12 that docs/*.schema.json use; a keyword
it does not know is an error, so that nothing goes unchecked.  Readers skip keys
that they do not know; here a key that the schema does not list is an error.
"""
import json
import sys

ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}


class Checker:
    def __init__(self, root):
        self.root = root
        self.errors = []

    def fail(self, where, what):
        self.errors.append(f"{where or '/'}: {what}")

    def resolve(self, ref):
        if not ref.startswith("#/"):
            raise SystemExit(f"schema: cannot follow $ref {ref}")
        node = self.root
        for part in ref[2:].split("/"):
            node = node[part]
        return node

    def check(self, schema, value, where=""):
        for key, arg in schema.items():
            if key in ANNOTATIONS:
                continue
            method = getattr(self, "kw_" + key.strip("$"), None)
            if method is None:
                raise SystemExit(f"schema: unknown keyword {key}")
            method(schema, arg, value, where)

    def kw_ref(self, _schema, arg, value, where):
        self.check(self.resolve(arg), value, where)

    def kw_type(self, _schema, arg, value, where):
        names = arg if isinstance(arg, list) else [arg]
        if not any(TYPES[name](value) for name in names):
            self.fail(where, f"{json.dumps(value)[:60]} is not {' or '.join(names)}")

    def kw_enum(self, _schema, arg, value, where):
        if value not in arg:
            self.fail(where, f"{json.dumps(value)[:60]} is none of {arg}")

    def kw_const(self, _schema, arg, value, where):
        if value != arg:
            self.fail(where, f"{json.dumps(value)[:60]} is not {arg}")

    def kw_minimum(self, _schema, arg, value, where):
        if TYPES["number"](value) and value < arg:
            self.fail(where, f"{value} is below {arg}")

    def kw_maximum(self, _schema, arg, value, where):
        if TYPES["number"](value) and value > arg:
            self.fail(where, f"{value} is over {arg}")

    def kw_required(self, _schema, arg, value, where):
        if isinstance(value, dict):
            for key in arg:
                if key not in value:
                    self.fail(where, f"key {key} is missing")

    def kw_properties(self, schema, arg, value, where):
        if isinstance(value, dict):
            for key, sub in arg.items():
                if key in value:
                    self.check(sub, value[key], f"{where}/{key}")
            for key in value.keys() - arg.keys():
                if "additionalProperties" not in schema:
                    self.fail(where, f"key {key} is not in the schema")

    def kw_additionalProperties(self, schema, arg, value, where):
        if not isinstance(value, dict):
            return
        for key in value.keys() - schema.get("properties", {}).keys():
            self.check(arg, value[key], f"{where}/{key}")

    def kw_items(self, _schema, arg, value, where):
        if isinstance(value, list):
            for i, item in enumerate(value):
                self.check(arg, item, f"{where}/{i}")


def main():
    if len(sys.argv) < 3:
        print("usage: schema_check.py SCHEMA FILE...", file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    status = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
        checker = Checker(schema)
        checker.check(schema, value)
        for line in checker.errors[:20]:
            print(f"{path}: {line}")
        status |= bool(checker.errors)
    return status


if __name__ == "__main__":
    sys.exit(main())
