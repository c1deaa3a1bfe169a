# SPDX-License-Identifier: Apache-2.0
"""Runs shapes of servers and prints how many of their calls were associated rightly."""
import argparse
import json
import os
import sys
import time

from kit import host, lab as labs

from . import score, shapes_first, shapes_own, shapes_second
from .shape import BUILT, TOP, WRONG

SHAPES = {s.name: s for s in (*shapes_own.SHAPES, *shapes_first.SHAPES, *shapes_second.SHAPES)}
DELAY_MS = (1, 20)


def options(argv):
    p = argparse.ArgumentParser(prog='tests/eval/paths/run', description=__doc__)
    p.add_argument('shapes', nargs='*', metavar='SHAPE', help='or first or second; default: all')
    p.add_argument('--list', action='store_true', help='list the shapes')
    p.add_argument('--in-flight', default='1,16,128', metavar='N[,N]',
                   help='connections of the client (1,16,128)')
    p.add_argument('--seconds', type=float, default=3, metavar='S', help='length of a run (3)')
    p.add_argument('--follow', default=os.path.join(TOP, 'build', 'tests', 'follow_calls'),
                   metavar='FILE', help='what prints the calls of PIDs for SECONDS')
    p.add_argument('--keep', metavar='DIR', help='store logs and answers there')
    p.add_argument('--rules', action='store_true', help='print each rule, too')
    return p.parse_args(argv)


def chosen(names):
    """The shapes of these names and groups, in the table's order."""
    groups = {s.group for s in SHAPES.values()}
    for name in names:
        if name not in SHAPES and name not in groups:
            raise SystemExit("no shape '%s'; --list shows them" % name)
    return [s for s in SHAPES.values() if not names or s.name in names or s.group in names]


class Run:
    """What one run left: the answers' text and the two logs."""

    def __init__(self, shape, in_flight, ports):
        self.shape = shape
        self.in_flight = in_flight
        self.server_port, self.upstream_port = ports
        self.text = self.client = self.upstream = ''

    def calls(self):
        return [json.loads(line) for line in self.text.splitlines() if line.startswith('{')]

    def score(self, seconds):
        truth = score.Truth(score.client_log(self.client), score.upstream_log(self.upstream),
                            self.server_port, self.upstream_port)
        if not truth.requests or not truth.exchanges:
            raise labs.LabError('no request was answered, or no call')
        return score.score(truth, self.calls(), seconds)

    def store(self, folder):
        base = os.path.join(folder, '%s.%d.' % (self.shape.name, self.in_flight))
        for end, text in (('calls.jsonl', self.text), ('client.log', self.client),
                          ('upstream.log', self.upstream),
                          ('ports', '%d %d\n' % (self.server_port, self.upstream_port))):
            with open(base + end, 'w') as f:
                f.write(text)


def measure(opts, shape, in_flight):
    with labs.Lab('paths') as lab:
        upstream_port = host.free_port()
        up_log, client_log = lab.path('upstream.log'), lab.path('client.log')
        up = lab.spawn([os.path.join(BUILT, 'upstream'), upstream_port, up_log, *DELAY_MS])
        lab.wait_port(up, upstream_port)
        procs = shape.start(lab, upstream_port)
        run = Run(shape, in_flight, (procs[0].port, upstream_port))
        client = lab.spawn([os.path.join(BUILT, 'client'), run.server_port, client_log,
                            in_flight, shape.kinds, shape.depth])
        time.sleep(shape.warm_s)
        pids = [pid for p in procs for pid in (p.pid, *host.descendants(p.pid))]
        run.text = lab.call([opts.follow, ','.join(map(str, pids)), '%g' % opts.seconds])
        for proc in (*procs, client, up):
            if not proc.alive():
                raise labs.LabError('%s ended early: %s' % (proc.name, proc.text()[-300:]))
        client.stop()
        up.stop()
        with open(up_log) as f, open(client_log) as g:
            run.upstream, run.client = f.read(), g.read()
    return run


HEAD = ('| shape | in flight | calls | right/wrong/unknown | same thread | aim | |\n'
        '|---|---|---|---|---|---|---|')


def percents(share):
    """Digits enough that one wrong call does not look like none."""
    return '/'.join('%.3g' % p if p >= 0.1 or not p else '%.2f' % p
                    for p in share.percents()) if share and share.total else '-'


def met(shape, share):
    if not share.total:
        return 'no call seen'
    right, wrong, _ = share.percents()
    if wrong > WRONG:
        return 'wrong'
    return '' if shape.aim is None or right >= shape.aim else 'missed'


def row(shape, in_flight, result):
    return '| %s | %d | %d | %s | %s | %s | %s |' % (
        shape.name, in_flight, result.ours.total, percents(result.ours),
        percents(result.same_thread), '-' if shape.aim is None else '%g' % shape.aim,
        met(shape, result.ours))


def rule_lines(result):
    for rule, share in sorted(result.rules.items(), key=lambda r: -r[1].total):
        yield '      %-20s %6d calls  %s' % (rule, share.total, percents(share))


def evaluate(opts):
    missed = broken = total = 0
    if opts.keep:
        os.makedirs(opts.keep, exist_ok=True)
    print(HEAD, flush=True)
    for shape in chosen(opts.shapes):
        for in_flight in map(int, opts.in_flight.split(',')):
            total += 1
            try:
                run = measure(opts, shape, in_flight)
                if opts.keep:
                    run.store(opts.keep)
                result = run.score(opts.seconds)
            except (labs.LabError, ValueError) as e:
                broken += 1
                print('| %s | %d | could not be run: %s |' % (shape.name, in_flight, e),
                      flush=True)
                continue
            missed += bool(met(shape, result.ours))
            print(row(shape, in_flight, result), flush=True)
            for line in rule_lines(result) if opts.rules else ():
                print(line)
    print('%d of %d runs met their aim' % (total - missed - broken, total))
    return 1 if broken else 0


def main(argv):
    opts = options(argv)
    todo = chosen(opts.shapes)
    if opts.list:
        for s in todo:
            print('%-16s %-7s %s' % (s.name, s.group, s.about))
        return 0
    for file in (opts.follow, os.path.join(BUILT, 'client')):
        if not os.access(file, os.X_OK):
            sys.stderr.write('%s is not built\n' % file)
            return 2
    if os.geteuid():
        sys.stderr.write('needs root (it starts servers as their own users and loads BPF)\n')
        return 2
    labs.become_reaper()
    return evaluate(opts)
