#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stops a process now and then: stopper.py PID STOP_MS EVERY_MS"""
import os
import signal
import sys
import time

pid, stop_s, every_s = int(sys.argv[1]), int(sys.argv[2]) / 1000, int(sys.argv[3]) / 1000
while True:
    time.sleep(every_s - stop_s)
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(stop_s)
    finally:
        os.kill(pid, signal.SIGCONT)
