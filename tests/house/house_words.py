# SPDX-License-Identifier: Apache-2.0
"""The words of docs/glossary.md, in strings, comments and documents; and of commit subjects."""
import os
import re
import subprocess

from known import Counts

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GLOSSARY = "docs/glossary.md"
TERMS_MIN = 50
PLACES = 8
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*) \|$", re.M)
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.S)


def rows(files):
    return [r for r in ROW.findall(files.get(GLOSSARY, "")) if r[0] not in ("term", "---")]


def glossary(files):
    """A term is there once, and is not forbidden elsewhere."""
    terms = [t.strip() for t, _, _ in rows(files)]
    banned = {w for _, _, no in rows(files) for w in re.findall(r"`([^`]+)`", no)}
    errors = ["%s: '%s' is there twice" % (GLOSSARY, t) for t in sorted(set(terms))
              if terms.count(t) > 1]
    errors += ["%s: '%s' is a term, and forbidden" % (GLOSSARY, t) for t in terms if t in banned]
    if len(terms) < TERMS_MIN or not banned:
        errors.append("%s: %d terms, %d forbidden words" % (GLOSSARY, len(terms), len(banned)))
    return errors


def prose(files):
    """(file, place, text) of each comment and string of src, and of each document.

    The tables in the README.md files of src are copies of comments.
    """
    for name, text in files.items():
        if name.startswith("src/") and name.endswith((".c", ".h")):
            for m in COMMENT.finditer(text):
                yield name, m.start(), m.group(0)
        elif name.endswith(".md") and name != GLOSSARY:
            yield name, 0, text.split("\n| file |")[0] if name.startswith("src/") else text


def counted(files, pattern, what):
    """Of each word that the pattern's first group finds: how often, and the first places."""
    found, places = {}, {}
    for name, start, text in prose(files):
        for m in pattern.finditer(text):
            word = " ".join(m.group(1).replace("*", " ").split())
            found[word] = found.get(word, 0) + 1
            line = files[name].count("\n", 0, start + m.start(1)) + 1
            if len(places.setdefault(word, [])) < PLACES:
                places[word].append("%s:%d" % (name, line))
    return Counts(found, what, {w: ", ".join(p) for w, p in places.items()})


def forbidden_words(files):
    banned = sorted({w for _, _, no in rows(files) for w in re.findall(r"`([^`]+)`", no)})
    if not banned:
        return ["%s: no forbidden words" % GLOSSARY]
    words = "|".join(re.escape(w).replace(r"\ ", r"\s+(?:\*\s+)?") for w in banned)
    return counted(files, re.compile(r"(?<![\w-])(%s)(?![\w-])" % words), "forbidden word")


def comment_openers(files):
    """A comment has its agent first."""
    code = {n: t for n, t in files.items() if n.startswith("src/")}
    return counted(code, re.compile(r"^(?://|/\*)\s*(Of|What|Where|Who)\b"),
                   "comment begins with this word")


FIRST = "e291153"  # the last commit before the rule
SUBJECT_MAX = 72
SUBJECT = re.compile(r"^[a-z][\w./+-]*(?:, [\w./+-]+)*: (\w+)\b")
VERBS = frozenset("""
    accept account add adjust advance agree align allow anchor annotate answer apply ask assert
    attach attribute avoid await back begin bind blame bound break bring build bump cache call
    cap capture carry catch change check choose clamp clean clear close collect combine compare
    compile complete compute confirm connect consider control convert copy correct count cover
    create cut cross decide declare decode decompress dedupe default defer define delete demand
    demangle deny derive describe detach detect disable discard display distinguish divide do
    document doubt draw drop emit emulate enable encode end enforce escape estimate evict exclude
    exempt exit expect explain export expose extend extract factor fail feed fetch fill filter
    find finish fit fix flatten flush fold follow forbid force format free freeze fuse gather
    generate get give grow group guard halve hand handle hide hold honour ignore import improve
    include increase index infer inject inline insert install interpret introduce intern isolate
    join judge jump keep kill know label lay learn leave let lift limit link list listen load
    locate lock log look loosen lower mark map match measure merge mirror move mount name narrow
    normalise normalize note notice number offer omit open order own pack pad parse pass patch
    pause pick pin place point poll postpone prefer prepare print prove prune pull push put
    quote raise rank read rebuild recognise record reduce refactor refer refresh refuse reject
    release relax remove rename render reopen reorder repair repeat replace replay report require
    rescale reserve reset resolve respect restore restrict retry return reuse revert rewrite rework
    round run sample satisfy save say scale scan score search select send separate serve set settle
    shape share shed shorten show shrink sign simplify skip sleep smooth snapshot sort speed split
    spread start state stop store stream strip submit subtract sum suppress survive swap switch
    sync take tell test tighten time tolerate touch trace track translate trim truncate trust try
    turn unify unwind update upgrade use validate verify wait walk want warn watch weigh widen
    wire work wrap write""".split())


def subject_error(subject):
    m = SUBJECT.match(subject)
    if len(subject) > SUBJECT_MAX:
        return "%d characters, limit %d" % (len(subject), SUBJECT_MAX)
    if not m:
        return "not 'area: verb what', in lower case"
    if m.group(1) not in VERBS:
        return "'%s' is no verb of tests/house/house_words.py" % m.group(1)
    return ""


def commit_subjects(_files):
    """Only where the history is there."""
    argv = ["git", "log", "--no-merges", "--format=%h %s", FIRST + "..HEAD"]
    try:
        out = subprocess.run(argv, cwd=TOP, capture_output=True, text=True)
    except FileNotFoundError:
        return []
    errors = []
    for line in out.stdout.split("\n") if out.returncode == 0 else []:
        commit, _, subject = line.partition(" ")
        why = subject_error(subject) if subject else ""
        if why:
            errors.append("%s: %s: %s" % (commit, why, subject))
    return errors


CHECKS = [
    ("glossary", glossary),
    ("forbidden-words", forbidden_words),
    ("comment-openers", comment_openers),
    ("commit-subjects", commit_subjects),
]
