# SPDX-License-Identifier: Apache-2.0
"""What a watcher costs that watches in turns and rests in between.

A machine that others share changes its speed by a tenth within seconds: runs
with and without a watcher that come one after the other differ by that.  A
turn lasts half a second, so each is compared with the rests right before and
after it: what is missing in it, in seconds of what the server does in a rest,
is lost.  All that is lost, over the length of the watch, is what it costs.

When a turn begins and ends is seen from outside: the watcher has more
attached.  What is done to attach and to leave counts to the turn.
"""
import os
import random
import time

STEP_S = 0.04
NEAR_S = 0.8		# of rest, before and after a turn, that it is compared with
ATTACHED = ('bpf_link', '[perf_event]', 'bpf-raw-tracepoint')
RESAMPLES = 2000


def attached_cnt(pid):
    cnt = 0
    try:
        for fd in os.listdir('/proc/%d/fd' % pid):
            try:
                cnt += os.readlink('/proc/%d/fd/%s' % (pid, fd)).endswith(ATTACHED)
            except FileNotFoundError:
                pass
    except (FileNotFoundError, ProcessLookupError):
        pass
    return cnt


class Series:
    """Of each moment: the time, the requests done until then, what was attached."""

    def __init__(self):
        self.points = []

    def take(self, count, pid, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            cnt = attached_cnt(pid)
            done = count()
            self.points.append((time.monotonic(), done, cnt))
            time.sleep(STEP_S)

    def rate(self):
        (t0, n0, _), (t1, n1, _) = self.points[0], self.points[-1]
        return (n1 - n0) / (t1 - t0)

    def turns(self):
        """Pairs of the last point in the rest before and the first in the rest after."""
        low = min(p[2] for p in self.points)
        on = [p[2] > low for p in self.points]
        turns, begin = [], None
        for i in range(1, len(on)):
            if on[i] and not on[i - 1]:
                begin = i - 1
            elif on[i - 1] and not on[i] and begin is not None:
                turns.append((begin, i))
                begin = None
        return turns, on

    def rested_rate(self, on, turn):
        """Requests a second in the rests next to a turn; None: they are too short."""
        begin, end = self.points[turn[0]][0], self.points[turn[1]][0]
        took = done = 0
        for i in range(1, len(self.points)):
            (t0, n0, _), (t1, n1, _) = self.points[i - 1], self.points[i]
            near = begin - NEAR_S <= t0 and t1 <= begin or end <= t0 and t1 <= end + NEAR_S
            if near and not on[i] and not on[i - 1]:
                took, done = took + t1 - t0, done + n1 - n0
        return done / took if took > NEAR_S / 2 else None

    def lost(self):
        """Of each turn: (seconds lost, its length); and the share of the time in turns."""
        turns, on = self.turns()
        found = []
        for turn in turns:
            rate = self.rested_rate(on, turn)
            if rate:
                (t0, n0, _), (t1, n1, _) = self.points[turn[0]], self.points[turn[1]]
                found.append((t1 - t0 - (n1 - n0) / rate, t1 - t0))
        span = self.points[turns[-1][0]][0] - self.points[turns[0][0]][0] if turns else 0
        in_turns = sum(self.points[b][0] - self.points[a][0] for a, b in turns[:-1])
        return found, in_turns / span if span else 0.0


def percent(found):
    length = sum(took for _, took in found)
    return 100 * sum(lost for lost, _ in found) / length if length else 0.0


def interval(found):
    """Where nine of ten resamples lie."""
    dice = random.Random(1)
    again = sorted(percent(dice.choices(found, k=len(found))) for _ in range(RESAMPLES))
    return again[RESAMPLES // 20], again[-RESAMPLES // 20]


class Turns:
    """What was lost in the turns of several watches of one server."""

    HEAD = ['workload', 'watched by', 'in all', 'turns', 'lost in a turn, %', '9 of 10',
            'share of time in turns', 'lost of all, %', '9 of 10', 'aim, %', 'met']

    def __init__(self, workload, watcher, aim):
        self.workload, self.watcher, self.aim = workload, watcher, aim
        self.found, self.shares, self.rates = [], [], []

    def measure(self, watcher, count, seconds):
        watcher.begin(self.workload, seconds)
        series = Series()
        series.take(count, watcher.proc.pid, seconds)
        watcher.end()
        found, share = series.lost()
        self.found += found
        self.shares.append(share)
        self.rates.append(series.rate())

    def share(self):
        return sum(self.shares) / len(self.shares)

    def row(self):
        rate = '%.0f %s' % (sum(self.rates) / len(self.rates), self.workload.unit)
        if not self.found:	# no rest: nothing to compare with
            return [self.workload.name, self.watcher, rate, '0', *['-'] * 5, '%.1f' % self.aim,
                    'not told: it never rested']
        low, high = interval(self.found)
        mean, share = percent(self.found), self.share()
        met = 'yes' if high * share <= self.aim else 'no' if low * share > self.aim else \
            'yes, at most %.1f' % (high * share) if mean * share <= self.aim else \
            'no, at least %.1f' % (low * share)
        return [self.workload.name, self.watcher,
                rate, '%d' % len(self.found), '%.1f' % mean, '%.1f .. %.1f' % (low, high),
                '%.2f' % share, '%.2f' % (mean * share),
                '%.2f .. %.2f' % (low * share, high * share), '%.1f' % self.aim, met]
