# SPDX-License-Identifier: Apache-2.0
"""The label `traced`: does `heldup explore --type` name what holds traced programs up?

The shop of examples/shop, one fault at a time, and two programs of Node with the official packages
of OpenTelemetry.  Right: the tracepoint is named first, its key among the keys, at most a tenth of
the tracepoints (or four) on while it searched, all off at the end, and each reply was right.
"""
import importlib.machinery
import importlib.util
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
RUN = os.path.join(TOP, 'tests', 'explore', 'run')
RUNS = 2


def searches():
    """tests/explore/run, which is a program, as a module."""
    sys.path.insert(0, os.path.dirname(RUN))
    loader = importlib.machinery.SourceFileLoader('explore_run', RUN)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def evaluate(opts):
    """One line a search, and the sum; the exit status."""
    run = searches()
    todo = [('finds', turn) for turn in range(len(run.FAULTS) * (opts.runs or RUNS))]
    lacking = run.node_shop.why_not()
    if lacking:
        print('node: left out: %s' % lacking)
    else:
        todo += [('node_finds', turn) for turn in range(opts.runs or RUNS)]
    right = 0
    for name, turn in todo:
        line, good = run.once(name, turn)
        right += good
        print(line, flush=True)
    print('%d of %d right' % (right, len(todo)), flush=True)
    return 1 if opts.strict and right < len(todo) else 0
