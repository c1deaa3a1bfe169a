# SPDX-License-Identifier: Apache-2.0
"""How often an answer was right, by how sure it said it was."""
import collections

LEVELS = ('high', 'medium', 'low')


class Sure:
    def __init__(self):
        self.cnt, self.right = collections.Counter(), collections.Counter()

    def add(self, confidence, right):
        self.cnt[confidence] += 1
        self.right[confidence] += bool(right)

    def lines(self):
        """The table; a level that nothing was said with is left out."""
        levels = [*LEVELS, *sorted(str(c) for c in self.cnt if c not in LEVELS)]
        return ['said %-6s -> right in %d of %d (%.0f %%)' % (
            level, self.right[level], self.cnt[level], 100 * self.right[level] / self.cnt[level])
            for level in levels if self.cnt[level]]
