# SPDX-License-Identifier: Apache-2.0
"""Documents say what the program says: help texts, options in examples, paths, links."""
import json
import os
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HELDUP = os.path.join(TOP, "heldup")

HELP_BLOCK = re.compile(r"<!-- help -->\n(?:```\w*\n)?(.*?)(?:```\n)?<!-- /help -->", re.S)
LIST_LINE = re.compile(r"^  ([a-z]+)\s{2,}\S", re.M)


def run(*args):
    out = subprocess.run([HELDUP, *args], capture_output=True, text=True, timeout=20)
    return out.stdout


def commands():
    text = run("--help")
    listed = LIST_LINE.findall(text[text.index("commands:"):])
    return [c for c in listed if c != "help"]


def registry(files):
    """Each cmd_NAME.c is in the table; none is in it twice."""
    errors, listed = [], commands()
    for name, text in files.items():
        m = re.match(r"src/cli/cmd_(\w+)\.c$", name)
        if not m or not re.search(r"^const struct cmd cmd_\w+", text, re.M):
            continue
        command = m.group(1)
        if command not in listed:
            errors.append("%s: '%s' is not in src/cli/commands.c" % (name, command))
    for command in listed:
        if "src/cli/cmd_%s.c" % command not in files:
            errors.append("command '%s' has no src/cli/cmd_%s.c" % (command, command))
        if listed.count(command) > 1:
            errors.append("command '%s' is listed twice" % command)
    return errors


def help_blocks(files):
    errors = []
    for command in commands():
        page = "docs/%s.md" % command
        if page not in files:
            errors.append("%s is missing" % page)
            continue
        m = HELP_BLOCK.search(files[page])
        if not m:
            errors.append("%s: no block between <!-- help --> and <!-- /help -->" % page)
        elif m.group(1).strip() != run(command, "-h").strip():
            errors.append("%s: the help block is not what `heldup %s -h` prints "
                          "(tools/docs-help writes it)" % (page, command))
    return errors


def help_width(files):
    return ["heldup %s -h: over 80 columns: %s" % (c, line)
            for c in commands() for line in run(c, "-h").split("\n") if len(line) > 80]


def words_of(line):
    line = line.split(" #")[0].split("|")[0].split(">")[0]
    return re.sub(r"['\"`]", "", line).split()


def uses(text):
    """(command, options) of each line of a code block or help that starts heldup."""
    for line in text.split("\n"):
        m = re.match(r"^\s*(?:\$ |# )?(?:sudo )?(?:\./)?heldup ([a-z]+)\b(.*)$", line)
        if not m:
            continue
        options = []
        for word in words_of(m.group(2)):
            if word == "--":
                break
            if re.match(r"--?[A-Za-z]", word):
                options.append(word.split("=")[0])
        yield m.group(1), options, line.strip()


def example_options(files):
    """Every option of an example in a document exists."""
    errors = []
    known = {c: set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", run(c, "-h"))) for c in commands()}
    for name, text in files.items():
        if not name.endswith(".md"):
            continue
        blocks = "\n".join(re.findall(r"^```[^\n]*\n(.*?)^```", text, re.S | re.M))
        for command, options, line in uses(blocks):
            if command == "help":
                continue
            if command not in known:
                errors.append("%s: no command '%s': %s" % (name, command, line))
                continue
            for option in options:
                if option not in known[command] and option[:2] not in known[command]:
                    errors.append("%s: no option %s: %s" % (name, option, line))
    return errors


def links(files):
    errors = []
    for name, text in files.items():
        if not name.endswith(".md"):
            continue
        text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text):
            if "://" in target or target.startswith("mailto:"):
                continue
            path = os.path.normpath(os.path.join(TOP, os.path.dirname(name), target))
            if not os.path.exists(path):
                errors.append("%s: no file %s" % (name, target))
        for target in re.findall(r"`((?:src|tests|docs|tools|bench|lib)/[\w./-]+)(?::\d+)?`", text):
            if not os.path.exists(os.path.join(TOP, target)):
                errors.append("%s: no file %s" % (name, target))
    return errors


SCHEMA_RULE = "All times are nanoseconds, shares are parts of 1. " \
    "Keys are only ever added: skip those that you do not know."
TITLES = {"why-brief": "heldup why --json --brief"}
NOT_NS = re.compile(r"(^|_)(us|ms|s|sec|secs|seconds|millis|micros|minutes)$")


def schema_keys(node):
    if isinstance(node, dict):
        yield from node.get("properties", {})
        for value in node.values():
            yield from schema_keys(value)
    elif isinstance(node, list):
        for value in node:
            yield from schema_keys(value)


def schemas(files):
    """One form of id, one rule for keys that a reader does not know, one unit of time."""
    errors = []
    for page, text in files.items():
        m = re.match(r"docs/([\w-]+)\.schema\.json$", page)
        if not m:
            continue
        schema = json.loads(text)
        for key, want in (("$schema", "https://json-schema.org/draft/2020-12/schema"),
                          ("$id", "urn:heldup:%s:1" % m.group(1)),
                          ("title", TITLES.get(m.group(1), "heldup %s --json" % m.group(1)))):
            if schema.get(key) != want:
                errors.append("%s: %s is %r, not %r" % (page, key, schema.get(key), want))
        if not schema.get("description", "").endswith(SCHEMA_RULE):
            errors.append("%s: its description does not end in: %s" % (page, SCHEMA_RULE))
        if re.search(r'"additionalProperties": *false', text):
            errors.append("%s: a reader must skip unknown keys: no additionalProperties: false"
                          % page)
        errors += ["%s: time '%s' is not in ns" % (page, key) for key in schema_keys(schema)
                   if NOT_NS.search(key)]
    return errors


PROMISES = re.compile(r"^\| promise \|.*\n\|[-|]+\n((?:\|.*\n)+)", re.M)
HELD_BY = re.compile(r"`(tests/[\w/.]+)`((?:[:,] `\w+`)*)")


def promises(files):
    """Each promise of docs/security.md names cases that show it, and these are there."""
    table = PROMISES.search(files.get("docs/security.md", ""))
    if not table:
        return ["docs/security.md: no table of promises"]
    errors = []
    for row in table.group(1).strip().split("\n"):
        cells = row.strip("| ").split(" | ")
        held = [(path, re.findall(r"`(\w+)`", cases)) for path, cases in HELD_BY.findall(cells[-1])]
        if not any(cases for _, cases in held):
            errors.append("docs/security.md: no case of a test shows '%s'" % cells[0][:60])
        for path, cases in held:
            text = files.get(path)
            if text is None:
                errors.append("docs/security.md: no file '%s'" % path)
            errors += ["docs/security.md: %s has no case '%s'" % (path, c) for c in cases
                       if text and not re.search(r"(TEST\(|def (test_)?|-)%s\b" % c, text)]
    return errors


CHECKS = [
    ("schemas", schemas),
    ("command-registry", registry),
    ("help-equals-docs", help_blocks),
    ("help-width", help_width),
    ("doc-examples", example_options),
    ("promises", promises),
    ("doc-links", links),
]
