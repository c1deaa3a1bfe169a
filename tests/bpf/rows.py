#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every row of a file's unwinding table, held against readelf's reading of it.

    tests/bpf/rows.py FILE...
"""
import bisect
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNWIND = os.path.join(ROOT, 'build', 'tests', 'unwind')
SECONDS = 120


def lines(argv):
    env = dict(os.environ, LC_ALL='C')
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env,
                         stderr=subprocess.DEVNULL, text=True)
    with p.stdout:
        yield from p.stdout
    p.wait(SECONDS)


def ours(path):
    """[(start, end, rule)] with rule 'CFA RBP RA', 'exp', 'last' or 'none'."""
    rows = []
    for line in lines([UNWIND, '-r', path]):
        start, end, rule = line.split(None, 2)
        rows.append((int(start, 16), int(end, 16), rule.strip()))
    return rows


def rule_of(cells):
    """What ours should say, as a set: an expression may have no form in a row."""
    cfa, rbp, ra = cells.get('CFA', ''), cells.get('rbp', 'u'), cells['ra']
    if ra == 'u':
        return {'last'}
    if 'exp' in (cfa, rbp, ra) or cells.get('rsp', 'u') != 'u' or not ra.startswith('c'):
        return {'exp', 'none'}
    return {'%s %s %s' % (cfa, 'u' if rbp == 's' else rbp, ra)}


ENTRY = re.compile(r'([0-9a-f]+) .* (?:CIE|FDE cie=([0-9a-f]+) '
                   r'pc=([0-9a-f]+)\.\.([0-9a-f]+))')


def readelf(path):
    """(start, end, {rule}) of each row of each FDE."""
    head, pending, end, cies, cie = [], None, None, {}, None
    for line in lines(['readelf', '-wF', '-W', path]):
        entry = ENTRY.match(line)
        words = re.sub(r' \(\w+\)', '', line).split()
        if entry:
            if pending:
                yield pending[0], end, pending[1]
            head, pending, end, cie = [], None, None, int(entry.group(1), 16)
        if entry and entry.group(2):
            end = int(entry.group(4), 16)
            # no rows are shown where the rules are the CIE's, or the outermost frame's
            pending = (int(entry.group(3), 16), cies.get(int(entry.group(2), 16), set()) | {'last'})
        elif words[:1] == ['LOC']:
            head = words[1:]
        elif head and len(words) == len(head) + 1 and words[1] != 'ZERO':
            loc, rule = int(words[0], 16), rule_of(dict(zip(head, words[1:])))
            if end is None:
                cies[cie] = rule
                continue
            if pending[0] < loc:
                yield pending[0], loc, pending[1]
            pending = (loc, rule)
    if pending:
        yield pending[0], end, pending[1]


def differences(path, max_cnt=10):
    """(rows compared, [texts])"""
    rows = ours(path)
    starts = [r[0] for r in rows]
    cnt, errors = 0, []
    for start, end, want in readelf(path):
        cnt += 1
        at = bisect.bisect_right(starts, start) - 1
        got = rows[at] if at >= 0 else (0, 0, 'nothing')
        if (got[2] not in want or got[1] < end) and start < end and len(errors) < max_cnt:
            errors.append('%s: %#x..%#x is %s, ours to %#x %s' % (
                os.path.basename(path), start, end, '|'.join(want), got[1], got[2]))
    return cnt, errors


def main():
    failed = 0
    for path in sys.argv[1:]:
        cnt, errors = differences(path)
        print('%s: %d rows, %d differ' % (path, cnt, len(errors)))
        for e in errors:
            print('   ' + e)
        failed += bool(errors) or not cnt
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
