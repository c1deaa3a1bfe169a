# SPDX-License-Identifier: Apache-2.0
"""Medians, spreads and tables."""
import datetime
import os
import platform


def quantile(values, q):
    """Linear between neighbours."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median(values):
    return quantile(values, 0.5)


def middle(values):
    """The interquartile range as text."""
    return '%+.1f .. %+.1f' % (quantile(values, 0.25), quantile(values, 0.75))


def worst(costs, key):
    values = [c[key] for c in costs if c.get(key) is not None]
    return max(values) if values else 0.0


def counted(costs, *keys):
    """The largest value that heldup reports under one of keys in `self`."""
    values = [c['self'][k] for c in costs for k in keys
              if isinstance(c.get('self', {}).get(k), (int, float))]
    return '%d' % max(values) if values else '-'


def table(head, rows):
    out = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    out += ['| ' + ' | '.join(row) + ' |' for row in rows]
    return '\n'.join(out)


def machine():
    model = ''
    with open('/proc/cpuinfo') as f:
        for line in f:
            if line.startswith('model name'):
                model = line.split(':', 1)[1].strip()
                break
    return '%d CPUs (%s), Linux %s, %s' % (os.cpu_count(), model, platform.release(),
                                           datetime.date.today().isoformat())
