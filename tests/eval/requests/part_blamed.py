# SPDX-License-Identifier: Apache-2.0
"""What heldup requests says of the made requests: who is to blame, and which key explains it."""
import json
import subprocess
import tempfile

from requests import part_made
from requests.replayed import TIMEOUT_S, Trouble

ABOUT = 'requests of a made application: the first edges to blame, and the key'
SEEDS = (1, 2, 3)


def blamed(opts, good, bad):
    argv = [opts.heldup, 'requests', '--json', '--diff', good, bad]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=TIMEOUT_S)
    if done.returncode:
        raise Trouble('%s: %s' % (' '.join(argv[1:]), done.stderr.strip()[:300]))
    return json.loads(done.stdout)


def name(end):
    return '%s %s' % (end['service'], end['name'])


def owner_of(e):
    """From a begin to a callee's begin the caller ran, from a callee's end to its end too."""
    if e['owner'] or name(e['from']) == name(e['to']):
        return e['owner'] or name(e['from'])
    if e['from']['kind'] == e['to']['kind']:
        return name(e['from'] if e['from']['kind'] == 'begin' else e['to'])
    return '%s -> %s' % (name(e['from']), name(e['to']))


def owners(doc):
    """Who ran in the edges to blame, first to last, each once."""
    return list(dict.fromkeys(owner_of(e) for e in doc['edges_to_blame']))


def keys(doc):
    """(key, tracepoint) of those that explain, strongest first."""
    all_of = [k for t in doc['types'] for k in t['all'].get('keys', []) if k['explains']]
    return [(k['key'], k['tracepoint'])
            for k in sorted(all_of, key=lambda k: -abs(k['strength']))]


def judge(problems, doc):
    truths = {p.op.point for p in problems}
    right = set(owners(doc)[:len(truths)]) == truths
    for p in problems:
        if p.key:
            right = right and keys(doc)[:1] == [(p.key, p.op.point)]
    return right


def evaluate(opts, say):
    right = total = broken = 0
    with tempfile.TemporaryDirectory(prefix='heldup-eval-') as folder:
        for case in part_made.CASES:
            got = cnt = 0
            for seed in SEEDS:
                problems, good, bad = part_made.make(case, seed, folder)
                if not problems:        # it ranks what is slower, be it ever so little
                    continue
                try:
                    doc = blamed(opts, good, bad)
                except Trouble as e:
                    say('%s: %s' % (case.name, e))
                    broken += 1
                    continue
                ok = judge(problems, doc)
                got, cnt = got + ok, cnt + 1
                if opts.show and not ok:
                    say('wrong: %s, seed %d: %s: blamed %s, keys %s' % (
                        case.name, seed, [p.op.point for p in problems], owners(doc)[:3],
                        keys(doc)[:2]))
            if cnt:
                say('%-24s %d of %d' % (case.name, got, cnt))
            right, total = right + got, total + cnt
    return right, total, broken
