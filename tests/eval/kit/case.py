# SPDX-License-Identifier: Apache-2.0
"""What a case is.

To add one: 1. write cases/NAME.py (underscores) with one subclass of Case
called `TheCase`; 2. give each variant an Expect; 3. run
`tests/eval/run --symptoms --case NAME` and see that degraded is really worse.
`tests/eval/run --list` shows it; a case without Expect for a variant is refused.

Variants:
    degraded  the fault is there
    healthy   the same server and the same closed-loop load without the fault
    calm      the same server under a light load at a fixed rate
    learn     for cases with the label functions: the same server without the
              fault under another load (learn_load), to learn signatures from
"""
import re


class Expect:
    """What a right verdict says.  resource and culprit are regular expressions."""

    def __init__(self, *classes, resource=None, culprit=None, why=''):
        self.classes = classes
        self.resource = resource
        self.culprit = culprit
        self.why = why

    def as_dict(self):
        return {'classes': list(self.classes), 'resource': self.resource,
                'culprit': self.culprit, 'why': self.why}

    @classmethod
    def from_dict(cls, d):
        return cls(*d['classes'], resource=d['resource'], culprit=d['culprit'], why=d['why'])

    def judge(self, verdict):
        """(right, why not) for the verdict object of `heldup why --json`."""
        given = verdict.get('class')
        if given not in self.classes:
            return False, 'class'
        resource = verdict.get('resource') or {}
        text = ' '.join(str(resource.get(k) or '') for k in ('kind', 'name'))
        text += ' ' + str(verdict.get('summary') or '')
        if self.resource and not re.search(self.resource, text):
            return False, 'resource'
        culprit = (verdict.get('culprit') or {}).get('comm') or ''
        if self.culprit and not re.search(self.culprit, culprit):
            return False, 'culprit'
        return True, ''


# A server under a light load at a fixed rate has nothing that holds it up.
CALM = Expect('healthy', 'clients', why='light load at a fixed rate')

# A closed loop asks as fast as it is answered: either the generator is the slow
# side, or the server's core is full with its own work.  Both are true answers.
CLOSED_LOOP = Expect('healthy', 'clients', 'cpu-own',
                     why='closed loop: the server or the generator fills its core')


class Case:
    name = ''
    about = ''
    labels = ('waits',)
    tools = ()			# programs that must be there
    variants = ('degraded', 'healthy', 'calm')
    expect = {}			# variant -> Expect; setup() may replace entries
    group = 'servers'		# with the label functions: in which table
    truth = None		# and its kit.truth.Truth; setup() may set it
    functions_s = 8		# and how long its degraded run is recorded
    functions_warm_s = 1.5	# and how long it runs before

    def __init__(self, lab, variant):
        self.lab = lab
        self.variant = variant
        self.degraded = variant == 'degraded'
        self.calm = variant == 'calm'
        self.expect = dict(type(self).expect)
        self.loads = {}		# name -> load, in order of printing

    def setup(self):
        """Start the server and make its data."""
        raise NotImplementedError

    def load(self):
        """Start the load (and the fault); fill self.loads."""
        raise NotImplementedError

    def learn_load(self):
        """Start a load other than load()'s on a sound server."""
        raise NotImplementedError

    def before_record(self):
        """What a person does before recording calls: ask a JVM for names, say."""

    def select(self):
        """Arguments that select the server, as a person would."""
        raise NotImplementedError

    def mark(self):
        """Called when the measured span begins and when it ends."""
        for load in self.loads.values():
            if hasattr(load, 'mark'):
                load.mark()

    def symptom(self, t0, t1):
        """What the clients saw between t0 and t1; the loads are stopped."""
        parts = []
        for name, load in self.loads.items():
            for key, value in load.measure(t0, t1).items():
                label = '%s %s' % (name, key) if name else key
                parts.append('%s %s' % (label, figure(value)))
        return ', '.join(parts)


def figure(value):
    if value >= 1000:
        return '%d' % round(value)
    return '%.3g' % value
