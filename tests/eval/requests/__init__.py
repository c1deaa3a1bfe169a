# SPDX-License-Identifier: Apache-2.0
"""How right the request engine is: recorded and made traces whose problem is known.

To add a part: part_NAME.py here, with

    ABOUT = 'one line'
    def evaluate(opts, say):    # say(line) prints; opts: heldup, case, seed, ...
        return right, total, broken

Parts run in the order of their names.  --case NAME[,NAME] takes parts by NAME.
"""
import importlib
import os
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SHARED = os.path.join(os.path.dirname(TOP), 'shared', 'data', 'traces')


def shared():
    """Folder of the recorded traces, or None: said aloud by who skips."""
    for base in (SHARED, os.environ.get('HELDUP_SHARED_TRACES', '')):
        if base and os.path.isdir(base):
            return base
    return None


def parts():
    names = sorted(f[5:-3] for f in os.listdir(HERE)
                   if f.startswith('part_') and f.endswith('.py'))
    return {n: importlib.import_module('requests.part_' + n) for n in names}


def say(line=''):
    print(line, flush=True)


def evaluate(opts):
    wanted = [n for group in opts.case for n in group.split(',')]
    known = parts()
    for name in wanted:
        if name not in known:
            raise SystemExit("no part '%s': %s" % (name, ', '.join(known)))
    right = total = broken = 0
    for name, part in known.items():
        if wanted and name not in wanted:
            continue
        began = time.monotonic()
        say('== %s: %s' % (name, part.ABOUT))
        r, t, b = part.evaluate(opts, say)
        say('%s: %d of %d right, %.0f s' % (name, r, t, time.monotonic() - began))
        right, total, broken = right + r, total + t, broken + b
    if broken:
        say('%d could not be run' % broken)
    say('%d of %d right' % (right, total))
    return 1 if broken or (opts.strict and right < total) else 0
