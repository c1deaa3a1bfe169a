# SPDX-License-Identifier: Apache-2.0
"""Asks heldup for functions, and the plain rankings that it is compared with."""
import json
import os

from . import pasd, watch
from .lab import LabError
from .truth import by_value

SYSTEM = ('libc.so', 'libc-', 'ld-linux', 'libpthread', 'libstdc++', 'libgcc_s', 'libm.so', '[vdso]')


class Answer:
    """A list of functions, what it says of the outside, and of how many there are."""

    def __init__(self, doc):
        self.doc = doc
        self.functions = [(f['rank'], f['name']) for f in doc.get('functions', ())]
        self.outside = (doc.get('outside') or {}).get('kind')
        self.total = doc.get('total_functions') or 0
        self.stacks = doc.get('window', {}).get('calls_with_stack')

    def share(self):
        return len(self.functions) / self.total if self.total else None


def record(heldup, selection, seconds, path, stacks='slow'):
    """A capture with calls, waits and the stacks of both."""
    watch.run([heldup, 'record', *selection, '--all-calls', '--with-waits', '--then', '0',
               '--call-stacks', stacks, '--after', '%gs' % seconds, '-o', path], seconds + 60)


def thin(top, capture, path, *slices):
    """What `record --calls` keeps by default of the same time: blocking calls, and all of
    the last 3 s.  slices: (SLICE_MS, PERIOD_MS), waits under 1 ms are there in these only."""
    watch.run([os.path.join(top, 'build', 'tests', 'thin'), capture, path, '3',
               *map(str, slices)], 60)
    return path


def learn(heldup, capture, sig):
    watch.run([heldup, 'learn', '-i', capture, '-o', sig], 120)


def functions(heldup, capture, sig=None, calls_only=False):
    argv = [heldup, 'functions', '-i', capture, '--json']
    if sig:
        argv += ['--signatures', sig]
    if calls_only:
        argv += ['--calls-only']
    text, _ = watch.run(argv, 180)
    try:
        return Answer(json.loads(text))
    except ValueError as e:
        raise LabError('heldup functions printed no JSON: %s' % e)


def plain(heldup, capture, mode):
    """By time on or off the CPU: the better of self and with callees is for the harness
    to choose, so both lists come back.  The kernel and the C library are left out."""
    text, _ = watch.run([heldup, 'stacks', '-i', capture, '--json', '--mode', mode], 180)
    doc = json.loads(text)
    fns = doc['functions']
    lists = []
    for key in ('self_ns', 'total_ns'):
        values = {}
        for m in doc['modes']:
            for row in m['top'] if m['mode'] == mode + '-cpu' else ():
                fn = fns[row['function']]
                if fn['kind'] in ('user', 'jit') and not fn['module'].startswith(SYSTEM):
                    values[fn['name']] = values.get(fn['name'], 0) + row[key]
        lists.append(by_value({k: v for k, v in values.items() if v}))
    return lists


def pasd_list(top, capture):
    tool = os.path.join(top, 'build', 'tests', 'calls')
    text, _ = watch.run([tool, capture], 120)
    return pasd.ranked(text)
