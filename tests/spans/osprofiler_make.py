# SPDX-License-Identifier: Apache-2.0
"""usage: osprofiler_make.py URL DIR: makes a trace with OSProfiler into the Redis at URL.

DIR/events has the trace as Redis holds it, one object behind the other; DIR/made.json
what was sent; the trace's id is printed.
"""
import json
import sys
import time

import redis
from oslo_config import cfg
from osprofiler import notifier, opts, profiler


def work():
    profiler.start("wsgi", info={"request": {"path": "/v2/servers", "method": "POST"}})
    with profiler.Trace("rpc", info={"function": {"name": "build", "args": "()"}}):
        time.sleep(0.002)
        with profiler.Trace("db", info={"db": {"statement": "SELECT 1"}, "rows": 17}):
            time.sleep(0.001)
        try:
            with profiler.Trace("driver"):
                raise ValueError("größe: no room }{ left")
        except ValueError:
            pass
    profiler.stop()


def main():
    url, folder = sys.argv[1:]
    made = []
    opts.set_defaults(cfg.CONF)
    send = notifier.create(url, project="nova", service="nova-api")

    def notify(info):
        made.append(dict(info))
        send(info)

    notifier.set(notify)
    trace = profiler.init("key")
    work()
    work()
    base = trace.get_base_id()
    events = redis.from_url(url).lrange("osprofiler_opt:" + base, 0, -1)
    with open(folder + "/events", "wb") as f:
        f.write(b"".join(events))
    with open(folder + "/made.json", "w", encoding="utf-8") as f:
        json.dump(made, f)
    print(base)


if __name__ == "__main__":
    main()
