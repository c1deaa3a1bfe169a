# SPDX-License-Identifier: Apache-2.0
"""Runs heldup on a selection and reads its verdict."""
import json
import subprocess
import sys
import time

from . import host, lab
from .lab import LabError


class Answer:
    """heldup's JSON, and how long the command took from start to end."""

    def __init__(self, doc, seconds):
        self.doc = doc
        self.seconds = seconds
        self.verdict = doc.get('verdict') or {}


def run(argv, timeout):
    """A session of its own, like all that is started: one niceness for all."""
    start = time.monotonic()

    def before_exec():
        if lab.base_nice:
            host.be_nice(lab.base_nice)
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout,
                              errors='replace', start_new_session=True,
                              preexec_fn=before_exec)
    except FileNotFoundError:
        raise LabError('%s: no such program (build it first)' % argv[0])
    except subprocess.TimeoutExpired:
        raise LabError('%s: no answer after %d s' % (' '.join(argv[:2]), timeout))
    if done.returncode:
        raise LabError('%s: status %d: %s' % (' '.join(argv[:2]), done.returncode,
                                              done.stderr.strip()[-300:]))
    return done.stdout, time.monotonic() - start


def parse(text, seconds):
    try:
        return Answer(json.loads(text), seconds)
    except ValueError as e:
        raise LabError('heldup printed no JSON: %s: %s' % (e, text[:120]))


def live(heldup, selection, watch_s):
    """Watch a selection for watch_s seconds."""
    text, seconds = run([heldup, 'why', *selection, '-d', '%gs' % watch_s, '--json'],
                        watch_s + 60)
    return parse(text, seconds)


def record(heldup, selection, watch_s, path):
    """Like live(), by way of a capture that stays at path."""
    _, seconds = run([heldup, 'record', *selection, '-d', '%gs' % watch_s, '-o', path],
                     watch_s + 60)
    return replay(heldup, path, seconds)


def replay(heldup, path, seconds=0.0):
    text, more = run([heldup, 'why', '-i', path, '--json'], 120)
    return parse(text, seconds + more)


def show(heldup, path):
    """Print the text report of a capture."""
    text, _ = run([heldup, 'why', '-i', path], 120)
    sys.stdout.write(text + '\n')
    sys.stdout.flush()
