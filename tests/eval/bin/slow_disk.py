#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A device that stalls now and then: slow_disk.py LIMIT_FILE DEVICE STALL_MS EVERY_MS ADDR PATH

For STALL_MS the cgroup of LIMIT_FILE may read from the device once a second, which is
not at all; in this time PATH is asked for once.  Then the limit is gone.
"""
import http.client
import sys
import threading
import time


def put(path, text):
    with open(path, 'w') as f:
        f.write(text)


def ask(address, path):
    client = http.client.HTTPConnection(address, timeout=20)
    client.request('GET', path)
    client.getresponse().read()
    client.close()


def main(limit_file, device, stall_ms, every_ms, address, path):
    stall_s, every_s = int(stall_ms) / 1000, int(every_ms) / 1000
    while True:
        put(limit_file, device + ' 1')
        asking = threading.Thread(target=ask, args=(address, path))
        asking.start()
        time.sleep(stall_s)
        put(limit_file, device + ' 0')
        asking.join()
        time.sleep(every_s - stall_s)


if __name__ == '__main__':
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(0)
