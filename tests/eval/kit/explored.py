# SPDX-License-Identifier: Apache-2.0
"""The label `explore`: does `heldup explore` end at the function that is guilty?

All cases that know one: those with the label functions, and rare problems whose truth has a
function.  Nothing but the server's selection is given.   Right: the function named, the
one in which it has most of its time, or (where the search went one call too deep) its
caller is guilty.  Path: another of the callers listed is.
"""
import json
import os
import re
import subprocess
import time

from . import lab as labs
from .lab import LabError
from .truth import matches

WARM_S = 2
SECONDS_MAX = 60
COLUMNS = '%-22s %-30s %-34s %5s %6s %6s %5s %4s'


def truth_of(case):
    """Regular expressions for names, each of which is right; none: the case knows no function."""
    if case.truth and case.truth.groups and not case.truth.outside:
        return case.truth.groups
    rare = getattr(case, 'rare', None)
    return (rare.function,) if rare and rare.function else ()


def fits(case):
    """The servers of tests/load/bugs say their function once they run."""
    return bool(truth_of(case)) or getattr(case, 'group', '') == 'bugs'


def names_of(doc):
    found = doc.get('held_up_by') or {}
    given = [found.get('function'), found.get('mostly_in'), found.get('asked_in')]
    names = [fn['name'] for fn in given if fn]
    return names + found.get('callers', [])[:1] if names else []


def has(case, names):
    return any(matches(t, n) or re.search(t, n) for t in truth_of(case) for n in names)


def run(opts, case):
    argv = [opts.heldup, 'explore', *case.select(), '--json', '-d', '%ds' % SECONDS_MAX]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=3 * SECONDS_MAX)
    if done.returncode:
        raise LabError(done.stderr.strip()[-200:])
    return json.loads(done.stdout)


def row(case, doc):
    names, cost = names_of(doc), doc['cost']
    on = 100 * cost['functions_on'] / max(cost['functions'], 1)
    differ = doc['after']['bytes_differ']
    right = has(case, names)
    path = has(case, (doc.get('held_up_by') or {}).get('callers', []))
    return right, COLUMNS % (
        case.name, '|'.join(truth_of(case))[:30],
        (' / '.join(names[:2]) or (doc.get('held_up_by') or {}).get('part') or '-')[:34],
        '%.0f' % (cost['took_ns'] / 1e9), '%.1f %%' % (100 * cost['share']), '%.1f %%' % on,
        doc['end'], 'yes' if right else 'path' if path else 'no') + ('  %d bytes differ' % differ if differ else '')


def evaluate(opts, todo, start):
    """One row a case, and the sums; the exit status."""
    classes = list(dict.fromkeys(case for case, _ in todo))
    right = broken = 0
    print(COLUMNS % ('case', 'guilty', 'explore', 'sec', 'cost', 'on', 'end', 'right'))
    if opts.answers:
        os.makedirs(opts.answers, exist_ok=True)
    for case_class in classes:
        try:
            with labs.Lab('eval') as lab:
                case = start(case_class, lab, 'degraded')
                time.sleep(WARM_S)
                doc = run(opts, case)
                good, text = row(case, doc)
            right += good
            print(text, flush=True)
            if opts.answers:
                with open(os.path.join(opts.answers, case.name + '.json'), 'w') as f:
                    json.dump(doc, f, indent=1)
        except (LabError, subprocess.TimeoutExpired) as e:
            broken += 1
            print('%-22s harness: %s' % (case_class.name, e), flush=True)
    if broken:
        print('%d could not be run' % broken)
    print('%d of %d right' % (right, len(classes)), flush=True)
    return 1 if broken or (opts.strict and right < len(classes)) else 0
