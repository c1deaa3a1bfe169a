# SPDX-License-Identifier: Apache-2.0
"""The servers of servers/."""
from .shape import FUTURES, LOOPS, NO_AIM, REPLIES, THREADS, Shape, own

MIX = 'one,two,par'

SHAPES = (
    Shape('threads', own('thread_conn'), 'a thread for each connection', THREADS, MIX),
    Shape('accept-lock', own('prefork', 8), '8 processes take turns at accept', THREADS, MIX),
    Shape('queue-wake', own('queue', 8, 'wake'), 'reader, queue, 8 workers that reply',
          REPLIES, MIX),
    Shape('queue-poll', own('queue', 8, 'poll'), 'the same, but nobody wakes a worker',
          REPLIES, MIX),
    Shape('futures', own('futures', 8), 'handlers wait for the results of 8 workers',
          FUTURES, MIX),
    Shape('loop', own('loop', 0, 0, 0), 'epoll loop, upstream connections without a limit',
          LOOPS, MIX),
    Shape('loop-limit', own('loop', 4, 0, 0), 'calls queue for 4 connections', LOOPS),
    Shape('loop-limit-mix', own('loop', 4, 0, 0), 'the same, with fan-out', NO_AIM, MIX),
    Shape('loop-before', own('loop', 0, 10, 0), 'random timer before the call', LOOPS),
    Shape('loop-both', own('loop', 0, 10, 10), 'random timers before and after', NO_AIM),
    Shape('forks', own('fork_conn'), 'a process for each connection', THREADS, MIX,
          group='second'),
    Shape('threads-piped', own('thread_conn'), '3 requests pipelined', THREADS, MIX, depth=3,
          group='second'),
    Shape('loop-piped', own('loop', 0, 0, 0), '3 requests pipelined, one after another', LOOPS,
          depth=3, group='second'),
)
