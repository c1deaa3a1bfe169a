# SPDX-License-Identifier: Apache-2.0
"""Runs heldup replay, and sums up what strategies needed and found."""
import json
import subprocess

OURS = 'hedge'
PAPERS = ('flat', 'hierarchical')
TIMEOUT_S = 300


class Trouble(Exception):
    pass


def replay(opts, files, *more):
    argv = [opts.heldup, 'replay', '--json', *files, *more]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=TIMEOUT_S)
    if done.returncode:
        raise Trouble('%s: %s' % (' '.join(argv[1:]), done.stderr.strip()[:300]))
    return json.loads(done.stdout)


class Sums:
    """What strategies came to over many replays."""

    def __init__(self):
        self.rows = {}          # strategy -> [(right, share enabled, rounds, ...)]
        self.least = []         # what must be on at least: (tracepoints, share)

    def add(self, doc):
        least = doc['strategies'][0]['least']
        self.least.append((least, least / max(1, doc['strategies'][0]['points'])))
        for s in doc['strategies']:
            rounds = max((t['round'] or s['rounds'] for t in s['truths']), default=s['rounds'])
            self.rows.setdefault(s['strategy'], []).append(
                (bool(s['right']), s['enabled_share'], rounds, s['enabled'],
                 s['seen_spans'] / max(1, s['spans']), s['points']))

    def merge(self, other):
        for name, rows in other.rows.items():
            self.rows.setdefault(name, []).extend(rows)
        self.least += other.least

    def least_mean(self, column):
        return sum(row[column] for row in self.least) / max(1, len(self.least))

    def mean(self, strategy, column):
        rows = self.rows.get(strategy) or [(0, 0, 0, 0, 0, 0)]
        return sum(r[column] for r in rows) / len(rows)

    def pooled_share(self, strategy):
        """Of all tracepoints of all replays; a mean of shares weighs small applications more."""
        return self.mean(strategy, 3) / max(1, self.mean(strategy, 5))

    def count(self, strategy):
        rows = self.rows.get(strategy, [])
        return sum(r[0] for r in rows), len(rows)

    @staticmethod
    def head():
        return '%-24s %-13s %12s %9s %9s %8s %9s' % (
            'requests, problem', 'strategy', 'right', 'enabled', 'share', 'rounds', 'spans')

    def lines(self, name):
        for strategy in self.rows:
            right, cnt = self.count(strategy)
            yield '%-24s %-13s %5d of %4d %9.2f %8.1f%% %8.1f %8.1f%%' % (
                name, strategy, right, cnt, self.mean(strategy, 3), 100 * self.mean(strategy, 1),
                self.mean(strategy, 2), 100 * self.mean(strategy, 4))
            name = ''
        if any(row[0] for row in self.least):
            yield '%-24s %-13s %13s %9.2f %8.1f%%' % ('', '(at least)', '', self.least_mean(0),
                                                     100 * self.least_mean(1))
