# SPDX-License-Identifier: Apache-2.0
"""What a right list of functions holds, and how a list is judged.

A list is [(rank, name)], rank from 1; members of a tie share their rank.
"""
import re

FIRST = 5		# published: the guilty function is among the first five in most cases


class Truth:
    """Guilty functions: each of `groups` is a regular expression for the names of one.

    A case with two bugs has two groups, and its rank is the worse one.  With
    `outside` no function is guilty: 'disk', 'cpu'.
    """

    def __init__(self, *groups, outside=None, note=''):
        self.groups = groups
        self.outside = outside
        self.note = note	# shown: what this case can't tell, or why a name is a range

    def label(self):
        return 'outside: ' + self.outside if self.outside else ' + '.join(self.groups)

    def rank(self, functions):
        """The rank of the guilty function, None where it is not in the list."""
        ranks = []
        for group in self.groups:
            found = [rank for rank, name in functions if matches(group, name)]
            if not found:
                return None
            ranks.append(min(found))
        return max(ranks) if ranks else None

    def tie(self, functions):
        """How many functions share the guilty one's rank, it included."""
        rank = self.rank(functions)
        return sum(1 for r, _ in functions if r == rank) if rank else None

    def right(self, functions, outside):
        if self.outside:
            return outside == self.outside
        rank = self.rank(functions)
        return rank is not None and rank <= FIRST


def matches(pattern, name):
    """The pattern stands for a whole name, or the last part of a qualified one."""
    return bool(re.search(r'(^|[.:~* ])(%s)($|[ (@<])' % pattern, name))


def by_value(values):
    """[(rank, name)] from {name: value}, the largest first; equal ones share a rank."""
    order = sorted(values.items(), key=lambda kv: -kv[1])
    ranked, last, rank = [], None, 0
    for place, (name, value) in enumerate(order, 1):
        if value != last:
            last, rank = value, place
        ranked.append((rank, name))
    return ranked
