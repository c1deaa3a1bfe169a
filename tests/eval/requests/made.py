# SPDX-License-Identifier: Apache-2.0
"""Makes requests of an application that does not exist, with a problem that is known.

An App is a random tree of calls over services, from a seed: each operation
does some work of its own, calls others one after another or several at once
and waits for all of them, some calls only in some requests.  A call to another
service is a client's span with the server's inside.  Work takes as long as a
log-normal draw.  Slow() says what is wrong.  Jaeger JSON comes out.
"""
import json
import math
import random

WORK_CV = 0.2           # of an operation's own work
SIGMA = math.sqrt(math.log(1 + WORK_CV ** 2))
NETWORK_NS = 150_000    # one way
OPTIONAL = 0.25         # of the calls are made only in some requests
ASIDE = 0.25            # of the steps are several calls at once


class Op:
    def __init__(self, service, name, work_ns):
        self.service, self.name, self.work_ns = service, name, work_ns
        self.steps = []         # of [(Op, probability)]; several in one: at the same time

    @property
    def point(self):
        return '%s %s' % (self.service, self.name)

    def all(self):
        yield self
        for step in self.steps:
            for op, _ in step:
                yield from op.all()


class App:
    """ops operations in all, their clients' spans not counted."""

    def __init__(self, seed, ops=60, services=8, work_ns=400_000):
        rnd = random.Random(seed)
        self.root = Op('front', 'GET /page', work_ns)
        tree = [self.root]
        while len(tree) < ops:
            parent = rnd.choice(tree[-max(8, len(tree) // 2):])
            many = rnd.randint(2, 3) if rnd.random() < ASIDE else 1
            step = []
            for _ in range(min(many, ops - len(tree))):
                own = rnd.random() < 0.5
                service = parent.service if own else 's%d' % rnd.randrange(services)
                op = Op(service, 'op%d' % len(tree), work_ns * rnd.uniform(0.2, 2))
                tree.append(op)
                step.append((op, rnd.uniform(0.3, 0.9) if rnd.random() < OPTIONAL else 1))
            parent.steps.append(step)
        while len(self.leaves()) < 4:   # some that a problem can be put in
            parent = rnd.choice(self.always())
            op = Op('s%d' % rnd.randrange(services), 'op%d' % len(tree), work_ns)
            tree.append(op)
            parent.steps.insert(rnd.randrange(len(parent.steps) + 1), [(op, 1)])
        self.ops = tree

    def always(self):
        """Operations that are in each request and on no branch beside another."""
        found = []

        def walk(op):
            found.append(op)
            for step in op.steps:
                if len(step) == 1 and step[0][1] == 1:
                    walk(step[0][0])
        walk(self.root)
        return found

    def leaves(self):
        return [op for op in self.always() if not op.steps and op is not self.root]


class Slow:
    """delay(rnd, request) -> ns for one visit; key: a tag that the span gets with its value."""

    def __init__(self, op, delay, key=None):
        self.op, self.delay, self.key = op, delay, key


class Request:
    """One run through the app; its spans as dicts."""

    def __init__(self, app, rnd, slow=(), number=0):
        self.rnd, self.slow, self.spans = rnd, slow, []
        self.id = '%016x%016x' % (rnd.getrandbits(64), number + 1)
        self.common = {}        # draws that several problems share
        self.run(app.root, 10**18 + number * 10**8, None, None)

    def work(self, mean_ns):
        return mean_ns * math.exp(self.rnd.gauss(-SIGMA ** 2 / 2, SIGMA))

    def span(self, op, name, kind, parent):
        made = {'id': '%016x' % (len(self.spans) + 1), 'service': op.service, 'name': name,
                'kind': kind, 'parent': parent and parent['id'], 'tags': {}}
        self.spans.append(made)
        return made

    def run(self, op, begin, parent, caller):
        """Runs op at begin; when it ended."""
        client = None
        if caller and caller.service != op.service:
            client = self.span(caller, 'call ' + op.name, 'client', parent)
            client['begin'], parent = begin, client
            begin += self.work(NETWORK_NS)
        me = self.span(op, op.name, 'server' if client else 'internal', parent)
        me['begin'] = at = begin
        for problem in self.slow:
            if problem.op is op:
                at += self.problem(problem, me)
        for step in op.steps:
            at += self.work(op.work_ns / (len(op.steps) + 1))
            calls = [c for c, p in step if self.rnd.random() < p]
            at = max([self.run(c, at, me, op) for c in calls], default=at)
        at += self.work(op.work_ns / (len(op.steps) + 1))
        me['end'] = at
        if client:
            at += self.work(NETWORK_NS)
            client['end'] = at
        return at

    def problem(self, problem, span):
        ns = problem.delay(self.rnd, self)
        if problem.key:
            ns, value = ns
            span['tags'][problem.key] = value
        return ns


def requests(app, cnt, seed, slow=()):
    rnd = random.Random(seed)
    return [Request(app, rnd, slow, n) for n in range(cnt)]


# ---- what happens to traces on their way

def skew(reqs, most_ns, seed):
    """Each service has a clock of its own, up to so wrong."""
    rnd = random.Random(seed)
    off = {}
    for r in reqs:
        for s in r.spans:
            by = off.setdefault(s['service'], rnd.uniform(-most_ns, most_ns))
            s['begin'] += by
            s['end'] += by


def lose(reqs, share, seed):
    """Spans get lost, but never a request's first."""
    rnd = random.Random(seed)
    for r in reqs:
        r.spans = [s for s in r.spans if not s['parent'] or rnd.random() >= share]


def unjoin(reqs, share, seed):
    """A server's part does not know whose it is: in the same trace, or one of its own."""
    rnd = random.Random(seed)
    alone = []
    for r in reqs:
        kept, other = [], {}
        for s in r.spans:           # parents first
            part = other.get(s['parent'], kept)
            if s['kind'] == 'server' and rnd.random() < share:
                s['parent'] = None
                if rnd.random() < 0.5:
                    part = []
                    alone.append(Part('%032x' % rnd.getrandbits(127), part))
            part.append(s)
            if part is not kept:
                other[s['id']] = part
        r.spans = kept
    reqs.extend(alone)


class Part:
    """What is left of a request."""

    def __init__(self, name, spans):
        self.id, self.spans = name, spans


def tag(key, value):
    kind = 'string' if isinstance(value, str) else 'float64'
    return {'key': key, 'type': kind, 'value': value}


def write(reqs, path):
    """Jaeger's API form; times in ns would not fit its microseconds, so they are rounded."""
    data = []
    for r in reqs:
        services = sorted({s['service'] for s in r.spans})
        process = {name: 'p%d' % i for i, name in enumerate(services)}
        data.append({
            'traceID': r.id,
            'spans': [{
                'traceID': r.id, 'spanID': s['id'], 'operationName': s['name'],
                'references': [{'refType': 'CHILD_OF', 'traceID': r.id, 'spanID': s['parent']}]
                if s['parent'] else [],
                'startTime': round(s['begin'] / 1000),
                'duration': round(s['end'] / 1000) - round(s['begin'] / 1000),
                'tags': [tag('span.kind', s['kind'])] + [tag(k, v) for k, v in s['tags'].items()],
                'logs': [], 'processID': process[s['service']]} for s in r.spans],
            'processes': {p: {'serviceName': name, 'tags': []} for name, p in process.items()}})
    with open(path, 'w') as f:
        json.dump({'data': data}, f)
