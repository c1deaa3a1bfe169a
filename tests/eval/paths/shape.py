# SPDX-License-Identifier: Apache-2.0
"""What a shape of server is; the tables of them are in shapes_*.py."""
import os

from kit import host, servers

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILT = os.path.join(TOP, 'build', 'load', 'paths')
APPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'apps')

# Aims: at least so many per cent right, and at most WRONG per cent wrong.
THREADS, REPLIES, FUTURES, LOOPS, NO_AIM = 99.9, 99.5, 97.0, 99.5, None
WRONG = 0.3


class Shape:
    """start(lab, upstream_port) returns the processes that serve; the first has .port."""

    def __init__(self, name, start, about, aim, kinds='one', depth=1, group='first', warm_s=1.0):
        self.name = name
        self.start = start
        self.about = about
        self.aim = aim
        self.kinds = kinds
        self.depth = depth	# pipelined requests of the client
        self.group = group	# `first`: used while the rules were made; `second`: not
        self.warm_s = warm_s


def own(program, *options):
    """start() of a server of servers/, with options after its two ports."""
    def start(lab, upstream_port):
        port = host.free_port()
        proc = lab.spawn([os.path.join(BUILT, program), port, upstream_port, *options])
        return [servers.ready(lab, proc, port)]
    return start


def app(*command):
    """start() of a program of apps/: PORT and UPSTREAM_PORT come after its arguments."""
    def start(lab, upstream_port):
        port = host.free_port()
        proc = lab.spawn([*(os.path.join(APPS, a) if a.lower().startswith('app') else a
                            for a in command), port, upstream_port])
        return [servers.ready(lab, proc, port)]
    return start
