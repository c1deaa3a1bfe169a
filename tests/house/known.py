# SPDX-License-Identifier: Apache-2.0
"""What a check cannot ask of the whole tree yet: known.txt, which may only shrink.

A line is `CHECK<tab>NUMBER<tab>ITEM`: of the item so much is known.  More, or an item that is
not there, fails.  tests/house/run --prune takes out what is right by now and lowers numbers.
"""
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known.txt")


class Counts:
    """What a check found: item to number, and errors that nothing excuses."""

    def __init__(self, found, what, more=None, errors=()):
        self.found, self.what, self.more, self.errors = found, what, more or {}, list(errors)

    def text(self, item, known):
        more = ": " + self.more[item] if item in self.more else ""
        beside = ", %d known" % known if known else ""
        return "%s: %s (%d%s)%s" % (item, self.what, self.found[item], beside, more)


def load():
    known = {}
    if os.path.exists(PATH):
        with open(PATH, encoding="utf-8") as f:
            for line in f:
                check, number, item = line.rstrip("\n").split("\t")
                known[check, item] = int(number)
    return known


def judge(check, counts, known):
    """(errors, note): what is over the list, and how long the list is."""
    errors = counts.errors + [counts.text(item, known.get((check, item), 0))
                              for item, n in sorted(counts.found.items())
                              if n > known.get((check, item), 0)]
    mine = {item: n for (name, item), n in known.items() if name == check}
    better = [item for item, n in mine.items() if counts.found.get(item, 0) < n]
    note = ""
    if mine:
        note = "%d known in %d places" % (sum(counts.found.get(i, 0) for i in mine), len(mine))
    if better:
        note += "; %d of these are better than listed: tests/house/run --prune" % len(better)
    return errors, note


def prune(found, known):
    """found: check to Counts.  Writes the list without what is right now."""
    kept = {(check, item): min(n, found[check].found.get(item, 0))
            for (check, item), n in known.items() if check in found}
    with open(PATH, "w", encoding="utf-8") as f:
        for (check, item), n in sorted(kept.items()):
            if n:
                f.write("%s\t%d\t%s\n" % (check, n, item))
    return len(known) - sum(1 for n in kept.values() if n)
