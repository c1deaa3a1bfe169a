# SPDX-License-Identifier: Apache-2.0
"""The same load under different watchers, one after the other in changing order."""
from kit import host


def measure(workload, watcher, seconds):
    """One run; (throughput, server CPU per request, watcher's cost, others' cores)."""
    watcher.begin(workload, seconds)
    others, cpu0 = host.Foreign(), workload.cpu_ticks()
    rate = workload.run(seconds)
    busy, cpu1 = others.cores(), workload.cpu_ticks()
    return rate, (cpu1 - cpu0) / rate, watcher.end(), busy


def order_of(names, turn):
    """Begins with another name each turn, and goes backwards in every second lap."""
    at = turn % len(names)
    turned = names[at:] + names[:at]
    return turned if turn // len(names) % 2 == 0 else turned[::-1]


def one_round(workload, watchers, turn, seconds):
    """One run for each of watchers ({name: watcher}).

    Returns {name: throughput}, {name: server CPU per request}, {name: watcher's
    cost}, and the most that others used in any of the runs, in cores.
    """
    rates, cpu, costs, busiest = {}, {}, {}, 0.0
    for name in order_of(list(watchers), turn):
        rates[name], cpu[name], costs[name], busy = measure(workload, watchers[name], seconds)
        busiest = max(busiest, busy)
    return rates, cpu, costs, busiest
