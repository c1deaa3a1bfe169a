# SPDX-License-Identifier: Apache-2.0
"""tests/explore/node/app.js twice, front and cart, with the official packages and with clients."""
import http.client
import os
import random
import shutil
import subprocess
import threading
import time

from shop import TOP, free_port

HERE = os.path.dirname(os.path.abspath(__file__))
AT = os.path.join(TOP, "build", "node")
INSTALL_S = 90
TRUTH = ("cart rows select", "rows")


def why_not():
    """Installs the packages into build/node; the reason where that cannot be done."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node or npm is not there"
    os.makedirs(AT, exist_ok=True)
    with open(os.path.join(HERE, "node", "package.json")) as f:
        wanted = f.read()
    stamp = os.path.join(AT, "installed.json")
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return None
    shutil.copy(os.path.join(HERE, "node", "package.json"), AT)
    try:
        done = subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit",
                               "--fetch-retries=0", "--fetch-timeout=15000"], cwd=AT,
                              capture_output=True, text=True, timeout=INSTALL_S)
    except subprocess.TimeoutExpired:
        return "npm install was not done after %d s" % INSTALL_S
    if done.returncode:
        return "npm install: %s" % (done.stderr.strip() or done.stdout.strip())[-200:]
    with open(stamp, "w") as f:
        f.write(wanted)
    return None


class NodeShop:
    def __init__(self, endpoint_port, clients=6):
        cart, self.port = free_port(), free_port()
        env = dict(os.environ, HELDUP_NODE=os.path.join(TOP, "lib", "node"),
                   NODE_PATH=os.path.join(AT, "node_modules"),
                   HELDUP_ENDPOINT="http://127.0.0.1:%d" % endpoint_port)
        app = os.path.join(HERE, "node", "app.js")
        self.services = [
            subprocess.Popen(["node", app, *words], env=env, stdout=subprocess.PIPE, text=True)
            for words in (["cart", str(cart)], ["front", str(self.port), str(cart)])]
        for p in self.services:
            assert p.stdout.readline() == "ready\n"
        self.right, self.wrong, self.ends = 0, [], False
        self.threads = [threading.Thread(target=self.ask, args=(i,)) for i in range(clients)]
        for t in self.threads:
            t.start()

    def ask(self, seed):
        rand = random.Random(seed)
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        while not self.ends:
            number = rand.randrange(100000)
            tenant = 7 if rand.random() < 0.3 else rand.randrange(6)
            path = "browse" if rand.random() < 0.1 else "checkout"
            try:
                c.request("GET", "/%s?tenant=%d&n=%d" % (path, tenant, number))
                body = c.getresponse().read()
            except OSError as e:
                self.wrong.append(str(e))
                return
            if body == b"total %d" % (number * 3 + tenant):
                self.right += 1
            else:
                self.wrong.append(body)
            time.sleep(rand.uniform(0.01, 0.05))

    def stop(self):
        self.ends = True
        for t in self.threads:
            t.join()
        for p in self.services:
            p.kill()
            p.wait()


def main():
    """The two programs and their clients, until it is killed."""
    NodeShop(int(os.environ["HELDUP_ENDPOINT"].rsplit(":", 1)[1]))
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
