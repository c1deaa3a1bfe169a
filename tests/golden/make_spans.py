#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes shop.spans.csv: made requests of a shop, with a known cause each.

GET /cart   its query takes as long as it reads rows; a tenth of the reviews fails
POST /pay   half of them miss the cache and ask the bank, which is another path
GET /ping   always the same
The clock of the host of `db` is 40 ms late.
"""
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ["trace_id", "span_id", "parent_id", "service", "host", "name", "start_us", "end_us", "error",
           "rows", "tenant"]
LATE_US = 40000


class Maker:
    def __init__(self):
        self.random = random.Random(7)
        self.lines = [",".join(COLUMNS)]
        self.trace = self.spans = 0

    def begin(self):
        self.trace += 1
        return 1700000000000000 + self.trace * 250000

    def span(self, parent, service, name, begin, end, error="", rows="", tenant=""):
        self.spans += 1
        late = LATE_US if service == "db" else 0
        self.lines.append(",".join(str(x) for x in (
            "%032x" % self.trace, "%016x" % self.spans, "%016x" % parent if parent else "",
            service, "host-" + service, name, int(begin) - late, int(end) - late, error, rows, tenant)))
        return self.spans

    def noise(self, mean):
        return mean * self.random.uniform(0.9, 1.1)

    def cart(self):
        at, rows = self.begin(), self.random.randint(1, 40)
        auth, query, reviews = self.noise(3000), self.noise(500) + 900 * rows, self.noise(2500)
        root = self.span(0, "web", "GET /cart", at, at + 2000 + auth + query)
        self.span(root, "auth", "check", at + 500, at + 500 + auth, tenant=self.random.choice("abc"))
        call = self.span(root, "web", "load cart", at + 900 + auth, at + 1700 + auth + query)
        self.span(call, "db", "SELECT items", at + 1200 + auth, at + 1200 + auth + query, rows=rows)
        self.span(root, "reviews", "list", at + 700 + auth, at + 700 + auth + reviews,
                  error="true" if self.random.random() < 0.1 else "")

    def pay(self):
        at, missed = self.begin(), self.random.random() < 0.5
        look, bank = self.noise(800), self.noise(30000) if missed else 0
        root = self.span(0, "web", "POST /pay", at, at + 1500 + look + bank)
        self.span(root, "cache", "get", at + 300, at + 300 + look)
        if missed:
            self.span(root, "bank", "charge", at + 700 + look, at + 700 + look + bank)

    def ping(self):
        at = self.begin()
        self.span(0, "web", "GET /ping", at, at + self.noise(400))


def main():
    m = Maker()
    for _ in range(80):
        m.cart()
        m.pay()
    for _ in range(30):
        m.ping()
    with open(os.path.join(HERE, "shop.spans.csv"), "w", encoding="utf-8") as f:
        f.write("\n".join(m.lines) + "\n")


if __name__ == "__main__":
    main()
