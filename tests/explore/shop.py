# SPDX-License-Identifier: Apache-2.0
"""examples/shop on free ports, with clients that check each reply."""
import os
import re
import signal
import socket
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHOP = os.path.join(TOP, "build", "examples", "shop", "shop")
TRUTH = {"slow_function": ("cart discount apply", "coupon"),
         "semaphore": ("stock slot wait", "queue.length"),
         "lock": ("cart session lock", None),
         "slow_peer": ("front bank call", None)}
TYPE = "GET /checkout"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Shop:
    def __init__(self, fault, endpoint_port, rate=60):
        self.env = dict(os.environ, SHOP_FAULT=fault,
                        HELDUP_ENDPOINT="http://127.0.0.1:%d" % endpoint_port)
        self.ports = {role: free_port() for role in ("bank", "stock", "cart", "front")}
        self.services = {}
        for role in self.ports:
            self.start(role)
        self.load = subprocess.Popen(
            [SHOP, "load", str(self.ports["front"]), str(rate), "3600",
             "40" if fault == "semaphore" else "1"],
            stdout=subprocess.PIPE, text=True, env=self.env)

    def start(self, role):
        words = [SHOP, role, str(self.ports[role])]
        if role == "front":
            words += [str(self.ports[r]) for r in ("cart", "stock", "bank")]
        p = subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, text=True)
        assert p.stdout.readline() == "ready\n", role
        self.services[role] = p

    def kill(self, role):
        self.services[role].kill()
        self.services[role].wait()

    def replies(self):
        """(right, wrong) so far; ends the clients."""
        self.load.send_signal(signal.SIGTERM)
        out = self.load.communicate(timeout=30)[0]
        m = re.search(r"right (\d+) wrong (\d+)", out)
        return (int(m.group(1)), int(m.group(2))) if m else (0, 0)

    def stop(self):
        if self.load.poll() is None:
            self.load.kill()
        self.load.wait()
        for p in self.services.values():
            p.kill()
            p.wait()


def main():
    """usage: shop.py FAULT: the shop and its clients, until it is killed"""
    import sys
    import time

    port = int(os.environ["HELDUP_ENDPOINT"].rsplit(":", 1)[1])
    shop = Shop(sys.argv[1], port)
    try:
        while True:
            time.sleep(60)
    finally:
        shop.stop()


if __name__ == "__main__":
    main()
