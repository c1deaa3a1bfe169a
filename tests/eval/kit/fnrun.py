# SPDX-License-Identifier: Apache-2.0
"""Runs the cases with the label `functions`: does heldup name the guilty one?

For each case: signatures are learnt from a sound run under another load, then
the degraded run is recorded once, and all rankings are made from that capture.
"""
import json
import os
import shutil
import tempfile
import time

from . import ask, host, table, watch
from . import lab as labs
from .truth import FIRST

LEARN_S = 6
COLUMNS = (('case', 21), ('guilty', 30), ('stacks', 7), ('tie', 4), ('block', 6),
           ('shed', 5), ('calls', 6), ('tie', 4),
           ('listed', 6), ('share', 8), ('off-CPU', 8), ('on-CPU', 7), ('PASD', 6),
           ('outside', 8), ('sec', 4), ('busy', 5), ('right', 6))


SLICES = (20, 160)		# ms of short waits, and how often, where detail is shed


class Paths:
    def __init__(self, folder, name):
        self.capture = os.path.join(folder, name + '.calls.heldup')
        self.thin = os.path.join(folder, name + '.thin.heldup')
        self.sound = os.path.join(folder, name + '.sound.heldup')
        self.sig = os.path.join(folder, name + '.sig')
        self.meta = os.path.join(folder, name + '.functions.json')


def line(values):
    return ' '.join(table.clip(v, w).ljust(w) for v, (_, w) in zip(values, COLUMNS)).rstrip()


def head():
    return line([name for name, _ in COLUMNS])


def text_of(value):
    return '-' if value is None else str(value)


def run_one(opts, case_class, paths):
    """Both runs; what replay() needs is then in files."""
    with labs.Lab('learn') as lab:
        case = case_class(lab, 'learn')
        case.setup()
        case.learn_load()
        time.sleep(case.functions_warm_s)
        alive(lab)
        case.before_record()
        ask.record(opts.heldup, case.select(), LEARN_S, paths.sound, stacks='all')
    with labs.Lab('eval') as lab:
        case = case_class(lab, 'degraded')
        case.setup()
        case.load()
        time.sleep(case.functions_warm_s)
        alive(lab)
        case.before_record()
        meter, t0 = host.Foreign(), time.monotonic()
        case.mark()
        ask.record(opts.heldup, case.select(), case.functions_s, paths.capture)
        case.mark()
        t1, busy = time.monotonic(), meter.cores()
        for load in case.loads.values():
            load.stop()
        meta = {'symptom': case.symptom(t0, t1), 'busy': busy, 'truth': case.truth.groups,
                'outside': case.truth.outside, 'note': case.truth.note}
    with open(paths.meta, 'w') as f:
        json.dump(meta, f, indent=1)


def alive(lab):
    for proc in lab.procs:
        if not proc.alive() and proc.popen.returncode:
            raise labs.LabError('%s ended early: %s' % (proc.name, proc.text()[-300:]))


class Judged:
    def __init__(self, row, *rights):
        self.row = row
        self.rights = rights	# with stacks, by calls alone, blocking calls, the same shed


def plain_rank(truth, lists):
    """The better one of self and with callees."""
    ranks = [r for r in (truth.rank(one) for one in lists) if r]
    return min(ranks) if ranks else None


def judge(opts, case_class, paths):
    from .truth import Truth
    with open(paths.meta) as f:
        meta = json.load(f)
    truth = Truth(*meta['truth'], outside=meta['outside'], note=meta['note'])
    ask.learn(opts.heldup, paths.sound, paths.sig)
    begin = time.monotonic()
    full = ask.functions(opts.heldup, paths.capture)
    took = time.monotonic() - begin
    calls = ask.functions(opts.heldup, paths.capture, paths.sig, calls_only=True)
    thin = [ask.functions(opts.heldup, ask.thin(opts.top, paths.capture, paths.thin, *how))
            for how in ((), SLICES)]
    off, on = (ask.plain(opts.heldup, paths.capture, mode) for mode in ('off', 'on'))
    pasd = ask.pasd_list(opts.top, paths.capture)
    right = [truth.right(a.functions, a.outside) for a in (full, calls, *thin)]
    share = full.share()
    row = line([case_class.name, truth.label(), text_of(truth.rank(full.functions)),
                text_of(truth.tie(full.functions)),
                *(text_of(truth.rank(a.functions)) for a in thin),
                text_of(truth.rank(calls.functions)),
                text_of(truth.tie(calls.functions)), len(full.functions),
                '-' if share is None else '%.2f %%' % (100 * share),
                text_of(plain_rank(truth, off)), text_of(plain_rank(truth, on)),
                text_of(truth.rank(pasd)), text_of(full.outside), '%.1f' % took,
                '%.1f' % meta['busy'], 'yes' if right[0] else 'no'])
    row += '\n    clients saw: ' + meta['symptom']
    if truth.note:
        row += '\n    note: ' + truth.note
    if opts.show or not all(right):
        row += ''.join('\n    %s: %s' % (kind, first(a)) for kind, a in
                       (('stacks', full), ('block', thin[0]), ('shed', thin[1]),
                        ('calls', calls)))
    return Judged(row, *right)


def first(answer):
    names = ['%d %s' % pair for pair in answer.functions[:FIRST]]
    return (', '.join(names) or 'none') + ('; outside: %s' % answer.outside
                                           if answer.outside else '')


def evaluate(opts, todo):
    """One table for each group of cases, each with its last lines."""
    broken = 0
    for group in sorted({c.group for c in todo}, reverse=True):
        mine = [c for c in todo if c.group == group]
        print('\n%s' % group)
        print(head(), flush=True)
        broken += table_of(opts, mine)
    return broken


def table_of(opts, mine):
    rights = [0, 0, 0, 0]
    broken = 0
    temp = None if opts.keep or opts.replay else tempfile.mkdtemp(prefix='heldup-eval-')
    for case_class in mine:
        paths = Paths(opts.replay or opts.keep or temp, case_class.name)
        try:
            if not opts.replay:
                run_one(opts, case_class, paths)
            got = judge(opts, case_class, paths)
            rights = [a + b for a, b in zip(rights, got.rights)]
            print(got.row, flush=True)
        except (labs.LabError, FileNotFoundError) as e:
            broken += 1
            print(table.trouble(case_class.name, 'functions', e), flush=True)
    if temp:
        shutil.rmtree(temp, ignore_errors=True)
    if broken:
        print('%d could not be run' % broken)
    print('%d of %d right from calls alone' % (rights[1], len(mine)))
    print('%d of %d right from what blocked and 3 s of all calls, %d where detail was shed' % (
        rights[2], len(mine), rights[3]))
    print('%d of %d right' % (rights[0], len(mine)), flush=True)
    return broken
