# SPDX-License-Identifier: Apache-2.0
"""The table of expected and given verdicts."""

COLUMNS = (('case', 17), ('variant', 8), ('expected', 30), ('given', 13), ('resource', 26),
           ('culprit', 16), ('conf', 6), ('sec', 5), ('busy', 4), ('right', 12))


def clip(text, width):
    text = str(text)
    return text if len(text) <= width else text[:width - 1] + '~'


def line(values):
    return ' '.join(clip(v, w).ljust(w) for v, (_, w) in zip(values, COLUMNS)).rstrip()


def head():
    return line([name for name, _ in COLUMNS])


def row(case, variant, expect, answer, busy, why_not):
    verdict = answer.verdict
    resource = verdict.get('resource') or {}
    culprit = verdict.get('culprit') or {}
    who = culprit.get('comm') or '-'
    if culprit.get('pid'):
        who += '/%s' % culprit['pid']
    return line([case, variant, '|'.join(expect.classes), verdict.get('class') or '-',
                 resource.get('name') or '-', who, confidence(verdict.get('confidence')),
                 '%.1f' % answer.seconds, '%.1f' % busy,
                 'no: ' + why_not if why_not else 'yes'])


def confidence(value):
    return '%.2f' % value if isinstance(value, (int, float)) else str(value or '-')


def trouble(case, variant, text):
    return '%s %s harness: %s' % (clip(case, 17).ljust(17), variant.ljust(8), text)
