# SPDX-License-Identifier: Apache-2.0
"""The rule of PASD (2023) on the calls of a capture, to compare heldup with.

Calls of a function that take longer than its mean and two standard deviations
count as failed, those under its mean and one as good, the rest not at all.
With D where the function made the call itself and O where it is anywhere on
the stack, functions are ranked by
    Increase = DF / (DF + DS) - OF / (OF + OS)
of which the first fifteen in a hundred are shown.
"""
from bisect import bisect_left, bisect_right
from math import sqrt

from .truth import by_value

SHOWN = 0.15


def parse(text):
    """({fn: name}, {stack: [fn]}, {stack: sorted [ns]}) from build/tests/calls."""
    names, stacks, times = {}, {}, {}
    for line in text.splitlines():
        words = line.split('\t')
        if words[0] == 'fn':
            names[int(words[1])] = words[3]
        elif words[0] == 'stack':
            stacks[int(words[1])] = [int(w) for w in words[2:]]
        elif words[0] == 'call' and words[2] != '-1':
            times.setdefault(int(words[2]), []).extend(int(w) for w in words[3:])
    for values in times.values():
        values.sort()
    return names, stacks, times


def increase(names, stacks, times):
    """{name: Increase} of all functions with a call."""
    found = {}
    users = {}
    for stack, fns in stacks.items():
        for fn in set(fns) if stack in times else ():
            users.setdefault(fn, []).append(stack)
    for fn, own in users.items():
        cnt = sum(len(times[s]) for s in own)
        mean = sum(sum(times[s]) for s in own) / cnt
        var = sum((t - mean) ** 2 for s in own for t in times[s]) / cnt
        low, high = mean + sqrt(var), mean + 2 * sqrt(var)
        d_fail = d_good = o_fail = o_good = 0
        for stack in own:
            fail = len(times[stack]) - bisect_right(times[stack], high)
            good = bisect_left(times[stack], low) - \
                bisect_left(times[stack], mean - 2 * sqrt(var))
            o_fail, o_good = o_fail + fail, o_good + good
            if stacks[stack][0] == fn:
                d_fail, d_good = d_fail + fail, d_good + good
        found[names[fn]] = share(d_fail, d_good) - share(o_fail, o_good)
    return found


def share(fail, good):
    return fail / (fail + good) if fail + good else 0.0


def ranked(text):
    """[(rank, name)] of those that PASD shows."""
    every = by_value(increase(*parse(text)))
    return [(rank, name) for rank, name in every if rank <= max(1, SHOWN * len(every))]
