# SPDX-License-Identifier: Apache-2.0
"""The labels `foreign` to `foreign6`: what no change of heldup was made for.

Each case says before it runs which classes are true and which party: a process, a
thread, a function, a resource or an address.  What its clients see asserts that the
problem is there (or, for a sound server, that none is); else the run does not count.

An answer is right (class and party), partly right (one of them, or both in a weaker
finding), wrong, or inconclusive ("cannot be told").
"""
import collections
import json
import os
import re
import shlex
import signal
import sys
import time

from . import host, lab as labs, load, rare, servers, watch
from .case import CLOSED_LOOP, Case, figure
from .lab import LabError

TALK = os.path.join(servers.BIN, 'talk.py')
GRADES = ('right', 'partly', 'wrong', 'inconclusive')
NOT_HELD_UP = ('healthy', 'clients')
SOUND_MS = 100		# p99 of a sound server: more and the machine is too busy to judge it
OPEN_S = 1.0		# until the clients are stopped after the watch


class Named:
    """What a right answer names: one of the classes, and a party.

    party is a regular expression for 'comm/pid/tid' of the culprit, the resource or
    the summary; function is one for the functions of the chain, which count as well.
    """

    def __init__(self, *classes, party=None, function=None, what=''):
        self.classes, self.party, self.function = classes, party, function
        self.what = what	# the party in words

    def label(self):
        return '%s: %s' % (' or '.join(self.classes), self.what)

    def class_fits(self, given):
        return given.get('class') in self.classes

    def party_fits(self, given, chain):
        if not self.party and not self.function:
            return True
        return rare.Rare.matches(self.party, parties(given)) or \
            rare.Rare.matches(self.function, rare.functions(given, chain))

    def fits(self, given, chain):
        return self.class_fits(given) and self.party_fits(given, chain)

    def grade(self, doc):
        verdict = doc.get('verdict') or {}
        chain = doc.get('chain') or ()
        if self.fits(verdict, chain):
            return 'right'
        stalls = (doc.get('tail') or {}).get('stalls') or ()
        others = [*(doc.get('findings') or ()), *(doc.get('candidates') or ()), *stalls]
        if any(self.fits(f, f.get('chain') or ()) for f in others):
            return 'partly'
        if verdict.get('class') == 'unknown':
            return 'inconclusive'
        if verdict.get('class') not in NOT_HELD_UP and \
                (self.class_fits(verdict) or self.party_fits(verdict, chain)):
            return 'partly'
        return 'wrong'


class Sound:
    """Right is an answer without a finding but the CPU that a closed loop fills."""

    classes = CLOSED_LOOP.classes

    def label(self):
        return 'nothing'

    def grade(self, doc):
        return 'wrong' if rare.judge_sound(doc) else 'right'


def parties(given):
    culprit, resource = given.get('culprit') or {}, given.get('resource') or {}
    return ['%s/%s/%s' % tuple(culprit.get(k) or '' for k in ('comm', 'pid', 'tid')),
            '%s %s' % (resource.get('kind'), resource.get('name')),
            str(given.get('summary') or '')]


def process(proc):
    """A party: this process, as a culprit."""
    return r'/%d/' % proc.pid


def address(port, ip=r'127\.0\.0\.1'):
    return r'%s:%d\b' % (ip, port)


class Talk:
    """bin/talk.py: clients whose protocol is a dialogue."""

    def __init__(self, lab, proto, target, *ask, opening=(), conns=4, pause=0, fresh=False,
                 timeout=60):
        self.log = lab.path('talk-%d.txt' % len(lab.procs))
        if proto != 'run':
            target = '127.0.0.1:%d' % target
        argv = [sys.executable, TALK, proto, target, '--conns', conns, '--pause', pause,
                '--timeout', timeout, '--log', self.log, *(['--fresh'] if fresh else [])]
        argv += ['--open=' + step for step in opening] + ['--ask=' + step for step in ask]
        self.proc = lab.spawn(argv, cpu=host.cpu_for_load() if proto != 'run' else None,
                              stop=signal.SIGINT, nice=-15)

    def stop(self):
        self.proc.stop()

    def measure(self, t0, t1):
        good, failed, waiting = [], 0, []
        with open(self.log) as f:
            for line in f:
                words = line.split()
                at, took = float(words[0]), int(words[1]) / 1000
                if words[2:] == ['open']:
                    if at - took / 1000 < t1 and took > 1000 * OPEN_S:
                        waiting.append(took)
                elif t0 <= at <= t1:
                    failed += took < 0
                    good += [took] if took >= 0 else []
        return figures(good, failed, waiting, t1 - t0)


def figures(good, failed, waiting, seconds):
    """What the clients saw; a request that is still open counts as long as it is."""
    seen = {'req/s': len(good) / seconds}
    times = sorted(good + waiting)
    for name, q in (('p50 ms', 0.5), ('p99 ms', 0.99), ('max ms', 1)):
        if times:
            seen[name] = load.quantile(times, q)
    seen.update({k: v for k, v in (('failed', failed), ('open', len(waiting))) if v})
    return seen


class Foreign(Case):
    """A problem.  hurts: (load, figure, how much at least) that its clients must see.

    The name of a case's folder is its label.
    """

    variants = ('degraded',)
    truth_of = None		# Named; setup() or load() may set it
    hurts = ('', 'p50 ms', 50)
    warm_s = 0.5
    packages = ()		# of Debian; the first column of docs/eval.md was made with these

    def talk(self, name, *args, **more):
        self.loads[name] = Talk(self.lab, *args, **more)

    def seen(self, t0, t1):
        return {name: one.measure(t0, t1) for name, one in self.loads.items()}

    def odd(self, seen):
        """'' where the clients saw the problem; else what they saw."""
        name, key, least = self.hurts
        value = seen[name].get(key, 0)
        return '' if value >= least else '%s %s, not %s' % (key, figure(value), figure(least))

    def select(self):
        return ['-p', str(self.server.pid)]


class Healthy(Foreign):
    variants = ('healthy',)
    truth_of = Sound()
    most_ms = SOUND_MS

    def odd(self, seen):
        for name, one in seen.items():
            if one.get('failed') or one.get('p99 ms', 0) > self.most_ms or not one['req/s']:
                return '%s %s' % (name, words({'': one}))
        return ''


def words(seen):
    return ', '.join('%s%s %s' % (name and name + ' ', key, figure(value))
                     for name, one in seen.items() for key, value in one.items())


def shell(argv):
    """A command line for Talk('run', ...)."""
    return ' '.join(shlex.quote(str(a)) for a in argv)


class Answer:
    """One run: the answer, its grade, and what the clients saw."""

    def __init__(self, case, doc, seen, busy):
        self.case, self.doc, self.seen, self.busy = case, doc, seen, busy
        self.grade = case.truth_of.grade(doc)

    def as_dict(self):
        verdict = self.doc.get('verdict') or {}
        return {'case': self.case.name, 'about': self.case.about,
                'sound': not self.case.degraded, 'must': self.case.truth_of.label(),
                'grade': self.grade, 'class': verdict.get('class'),
                'confidence': verdict.get('confidence'), 'headline': headline(self.doc),
                'said': said(self.doc, self.case),
                'clients': words(self.seen), 'busy': round(self.busy, 2)}


def headline(doc):
    verdict = doc.get('verdict') or {}
    resource, culprit = verdict.get('resource') or {}, verdict.get('culprit') or {}
    parts = [verdict.get('class'), resource.get('name'),
             '%s %s' % (culprit.get('comm'), culprit.get('pid')) if culprit.get('comm') else '']
    return ' · '.join(p for p in parts if p)


def said(doc, case):
    """The headline without what differs from run to run: class, and who is to blame."""
    verdict = doc.get('verdict') or {}
    if not case.degraded:
        return re.sub(r'/\d+', '', rare.judge_sound(doc)) or verdict.get('class')
    who = (verdict.get('culprit') or {}).get('comm')
    return '%s%s' % (verdict.get('class'), ' of ' + who if who else '')


def once(opts, case_class, variant, start):
    """(Answer, why it does not count, why it may not: it blames who is not ours)."""
    with labs.Lab('eval') as lab:
        case = start(case_class, lab, variant)
        time.sleep(case.warm_s)
        ours = host.descendants(os.getpid())
        meter, t0 = host.Foreign(), time.monotonic()
        case.mark()
        doc = watched(opts, case)
        case.mark()
        t1, busy = time.monotonic(), meter.cores()
        for one in case.loads.values():
            one.stop()
        seen = case.seen(t0, t1)
    odd, blamed = case.odd(seen), ''
    answer = Answer(case, doc, seen, busy)
    if answer.grade != 'right' and rare.blames_others(doc, ours):
        blamed = 'others used the CPU: ' + headline(doc)
    return answer, odd and 'the clients saw ' + odd, blamed


def watched(opts, case):
    if not opts.keep:
        return watch.live(opts.heldup, case.select(), opts.watch).doc
    return watch.record(opts.heldup, case.select(), opts.watch,
                        os.path.join(opts.keep, case.name + '.heldup')).doc


def several(opts, case_class, variant, start):
    """The answers of opts.runs runs that count."""
    answers, left = [], opts.retries
    while len(answers) < opts.runs:
        opts.wait()
        answer, odd, blamed = once(opts, case_class, variant, start)
        if not odd and (not blamed or left <= 0):	# said each time: that is its answer
            answers.append(answer)
            continue
        print('    %s: again: %s' % (case_class.name, odd or blamed), flush=True)
        left -= 1
        if left < 0:
            raise LabError('disturbed again and again: ' + odd)
    return answers


def majority(answers):
    """The answer that speaks for all: of the most frequent grade, the worse of equals."""
    cnt = collections.Counter(a.grade for a in answers)
    grade = max(cnt, key=lambda g: (cnt[g], GRADES.index(g)))
    return next(a for a in answers if a.grade == grade)


def store(folder, answers, spokes):
    for i, answer in enumerate(answers):
        with open(os.path.join(folder, '%s.%d.why.json' % (answer.case.name, i)), 'w') as f:
            json.dump(answer.doc, f, indent=1)
    with open(os.path.join(folder, spokes.case.name + '.grade.json'), 'w') as f:
        json.dump(dict(spokes.as_dict(), grades=[a.grade for a in answers]), f, indent=1)


def line(answers, spokes):
    doc = spokes.as_dict()
    return '%-20s %-9s %-7s %s\n    must: %s\n    clients saw: %s%s' % (
        doc['case'], doc['grade'], doc['confidence'], doc['headline'], doc['must'],
        doc['clients'],
        '\n    runs: ' + ', '.join(a.grade for a in answers) if len(answers) > 1 else '')


def evaluate(opts, todo, start, sure):
    """Prints a block for each case, and the totals; the exit status."""
    cnt = {'degraded': collections.Counter(), 'healthy': collections.Counter()}
    broken = 0
    for folder in filter(None, (opts.answers, opts.keep)):
        os.makedirs(folder, exist_ok=True)
    for case_class, variant in todo:
        try:
            answers = several(opts, case_class, variant, start)
        except LabError as e:
            broken += 1
            print('%-20s harness: %s' % (case_class.name, e), flush=True)
            continue
        spokes = majority(answers)
        for answer in answers:
            sure.add((answer.doc.get('verdict') or {}).get('confidence'),
                     answer.grade == 'right')
        cnt[variant][spokes.grade] += 1
        if opts.answers:
            store(opts.answers, answers, spokes)
        print(line(answers, spokes), flush=True)
    return finish(opts, cnt, broken, sure)


def finish(opts, cnt, broken, sure):
    if broken:
        print('%d could not be run' % broken)
    for name, variant in (('problems', 'degraded'), ('sound servers', 'healthy')):
        if cnt[variant]:
            print('%s: %s of %d' % (name, ', '.join(
                '%d %s' % (cnt[variant][g], g) for g in GRADES if cnt[variant][g]),
                sum(cnt[variant].values())))
    print('\n'.join(sure.lines()))
    right = sum(c['right'] for c in cnt.values())
    total = sum(sum(c.values()) for c in cnt.values())
    print('%d of %d right' % (right, total), flush=True)
    return 1 if broken or (opts.strict and right < total) else 0


def get(path):
    """A dialogue: one request of HTTP on a connection that stays."""
    return (r'>GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' % path, r'<ok\n')


GET = get('/')


def dns(name, kind=1):
    """A step: a question of DNS by UDP."""
    labels = ''.join('\\x%02x%s' % (len(part), part) for part in name.split('.'))
    return r'>\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00%s\x00\x00\x%02x\x00\x01' % (
        labels, kind)


def certificate(lab, bits=2048):
    """A file with a key and a certificate of its own."""
    both = lab.path('both.pem')
    lab.call(['openssl', 'req', '-x509', '-newkey', 'rsa:%d' % bits, '-nodes', '-days', 3,
              '-subj', '/CN=localhost', '-keyout', lab.path('key.pem'),
              '-out', lab.path('cert.pem')])
    with open(both, 'w') as out:
        for name in ('key.pem', 'cert.pem'):
            with open(lab.path(name)) as f:
                out.write(f.read())
    return both


HEAD = ('case', 'problem', 'what must be named', 'first try', 'after')
LABELS = ('foreign', *('foreign%d' % n for n in range(2, 7)))	# each has a table


def marks(label):
    return '<!-- %s -->\n' % label, '<!-- /%s -->\n' % label


def fill(path, folder, column, label):
    """Write what the grades in folder say into a column of a label's table in a document."""
    head, (begin, end) = HEAD, marks(label)
    with open(path) as f:
        before, rest = f.read().split(begin)
    old, after = rest.split(end)
    rows = {}
    for text in old.splitlines()[2:]:
        cells = [cell.strip() for cell in text.strip().strip('|').split(' | ')]
        rows[cells[0]] = cells + ['-'] * (len(head) - len(cells))
    for file in sorted(os.listdir(folder)):
        if file.endswith('.grade.json'):
            with open(os.path.join(folder, file)) as f:
                doc = json.load(f)
            row = rows.setdefault(doc['case'], [''] * 3 + ['-'] * (len(head) - 3))
            row[:3] = doc['case'], doc['about'], doc['must']
            row[head.index(column)] = cell(doc)
    order = sorted(rows.values(), key=lambda row: (row[0].startswith('sound-'), row[0]))
    lines = [head, ['---'] * len(head), *order]
    with open(path, 'w') as f:
        f.write(before + begin + ''.join('| %s |\n' % ' | '.join(row) for row in lines) +
                end + after)


def cell(doc):
    """A cell of the table: the grade; what was said, where that was not right."""
    text = '%s, %s' % (doc['grade'], doc['confidence'])
    return text if doc['grade'] == 'right' else '%s: %s' % (text, doc['said'])
