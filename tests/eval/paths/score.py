# SPDX-License-Identifier: Apache-2.0
"""Judges an association of upstream calls with requests by what client and upstream logged.

A call of the output is found in the upstream's log by its connection and by the order on
it; its request there by the id that the client gave it.  The output itself has no id.
"""
import collections

TAIL_NS = 150_000_000		# requests open so long before the recording ends do not count
SLACK_NS = 1_000_000		# between two servers: a send may be seen so late

Request = collections.namedtuple('Request', 'id kind port sent received')
Exchange = collections.namedtuple('Exchange', 'id n port received answered')


def client_log(text):
    """{id: Request} of the lines `ID KIND LOCAL_PORT SENT_NS RECEIVED_NS`."""
    found = {}
    for line in text.splitlines():
        number, kind, port, sent, received = line.split()
        found[int(number)] = Request(int(number), kind, int(port), int(sent), int(received))
    return found


def upstream_log(text):
    """[Exchange] of the lines `ID N PEER_PORT RECEIVED_NS ANSWERED_NS`."""
    return [Exchange(*map(int, line.split())) for line in text.splitlines()]


def port_of(address):
    return int(address.rpartition(':')[2])


class Truth:
    """server_port: where clients ask; upstream_port: where the judged calls go."""

    def __init__(self, requests, exchanges, server_port, upstream_port):
        self.requests = requests
        self.exchanges = exchanges
        self.server_port = server_port
        self.upstream_port = upstream_port


class Share:
    """How many calls are right, wrong and unknown; the last also where no line was there."""

    def __init__(self):
        self.right = self.wrong = self.unknown = 0

    def add(self, verdict):
        setattr(self, verdict, getattr(self, verdict) + 1)

    @property
    def total(self):
        return self.right + self.wrong + self.unknown

    def percents(self):
        return tuple(100.0 * n / max(1, self.total) for n in (self.right, self.wrong,
                                                              self.unknown))


class Score:
    def __init__(self):
        self.ours = Share()
        self.same_thread = None		# a Share, where the output has it
        self.rules = {}			# rule: Share
        self.missed = 0			# exchanges without a line, within unknown
        self.extra = 0			# lines without an exchange


def pair(calls, exchanges):
    """[(exchange, call or None)] of one connection, and how many calls have no exchange.

    A call is the exchange whose answer was sent between its start and its end: the next
    call on the connection starts after that, so a line that is missing moves no other.
    """
    calls = sorted(calls, key=lambda c: c['start_ns'])
    pairs, i, extra = [], 0, 0
    for x in sorted(exchanges, key=lambda x: x.answered):
        while i < len(calls) and end_of(calls[i]) < x.answered:
            i, extra = i + 1, extra + 1
        if i < len(calls) and calls[i]['start_ns'] <= x.answered:
            pairs.append((x, calls[i]))
            i += 1
        else:
            pairs.append((x, None))
    return pairs, extra + len(calls) - i


def end_of(call):
    end = call.get('end_ns')
    return float('inf') if end is None else end


class Hops:
    """Calls between servers of the same output, for requests that reach a second one."""

    def __init__(self, calls):
        self.by_ports = collections.defaultdict(list)
        for call in calls:
            self.by_ports[call['local_port'], port_of(call['remote'])].append(call)

    def caller(self, request):
        """The call that this request is, as its server sees it; None where there is none."""
        for call in self.by_ports.get((port_of(request['remote']), request['local_port']), ()):
            if call['start_ns'] - SLACK_NS <= request['arrival_ns'] <= end_of(call):
                return call
        return None


def first_request(truth, hops, request, field):
    """Follow a request of an inner server back to the client's; None where it gets lost."""
    for _ in range(8):
        if request is None or request['local_port'] == truth.server_port:
            return request
        call = hops.caller(request)
        request = call.get(field) if call else None
    return None


def judge(truth, hops, exchange, call, field):
    given = first_request(truth, hops, call.get(field), field) if call else None
    if given is None:
        return 'unknown'
    true = truth.requests[exchange.id]
    same = port_of(given['remote']) == true.port
    return 'right' if same and true.sent <= given['arrival_ns'] <= true.received else 'wrong'


def score(truth, calls, seconds):
    """calls: the decoded lines of the output, recorded for so many seconds."""
    result = Score()
    if not calls:
        return result
    begin = min(c['start_ns'] for c in calls)
    end = begin + seconds * 1e9 - TAIL_NS
    if any('same_thread' in c for c in calls):
        result.same_thread = Share()
    hops = Hops(calls)
    by_port = collections.defaultdict(lambda: ([], []))
    for call in calls:
        if port_of(call['remote']) == truth.upstream_port:
            by_port[call['local_port']][0].append(call)
    for exchange in truth.exchanges:
        by_port[exchange.port][1].append(exchange)
    for given, true in by_port.values():
        pairs, extra = pair(given, true)
        result.extra += extra
        for exchange, call in pairs:
            request = truth.requests.get(exchange.id)
            if request and begin <= request.sent and request.received <= end:
                add(result, truth, hops, exchange, call)
    return result


def add(result, truth, hops, exchange, call):
    verdict = judge(truth, hops, exchange, call, 'request')
    result.ours.add(verdict)
    result.missed += call is None
    if result.same_thread:
        result.same_thread.add(judge(truth, hops, exchange, call, 'same_thread'))
    rule = (call or {}).get('rule') or 'none'
    result.rules.setdefault(rule, Share()).add(verdict)
