# SPDX-License-Identifier: Apache-2.0
"""What is counted is shown, and what is written is used."""
import re

from house_code import strip

# Structs that hold what a module counted; in others only counters of what was left out.
STATS = re.compile(r"_(stats|result|info|stat)$")
LEFT_OUT = re.compile(r"^(\w+_)?(drop\w*|refused|skipped|lost|passed|rare|negative|over|cut|"
                      r"missed|unseen|untold|bad|clipped|folded)_cnt$")
STRUCT = re.compile(r"^struct (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}", re.M)
FIELDS = re.compile(r"^\s*(?:u?int\d+_t|size_t|unsigned|int|u64|u32)\s+([^;(]+);", re.M)
DECLARED = re.compile(r"\bstruct (\w+)\s*\**\s*(?:const\s+)?(\w+)(?=\s*[;,=)\[{])")
# "a->b.c": the last of these is what the field is of.
USE = re.compile(r"(\w+)(?:\[[^\]]*\])?\s*(?:->|\.)\s*(\w+_cnt)\b(\s*(?:\+\+|--|[-+|]?=(?!=)))?")
# Where what is counted is shown, or turned into what is.
# Counts of work done, for debugging, benches and tests; and what another counter says:
# open spans are counted by the reader, the others of a table or a file in what they are part of.
NOT_SHOWN = {
    ("code_stats", "scan_cnt"), ("members_stat", "emitted_cnt"), ("procfs_stat", "thread_cnt"),
    ("edge_rank_result", "edge_cnt"), ("requests_stats", "test_cnt"),
    ("capture_stats", "tick_cnt"), ("symbols_stats", "evicted_cnt"), ("graph_stats", "shared_cnt"),
    ("graph_stats", "open_cnt"), ("edge_rank_result", "unseen_cnt"), ("cfi_maker", "bad_cnt"),
    ("symtab", "refused_cnt"), ("live_flight", "lost_cnt"),
}
SHOWS = ("src/report/", "src/verdict/", "src/cli/", "src/ui/")
HANDS_ON = re.compile(r"loss|LOSS_|note|log_|err_")


def counters(files):
    """(struct, field, header) of all counters that somebody should read."""
    for name, text in sorted(files.items()):
        if not (name.startswith("src/") and name.endswith(".h")) or name.startswith("src/bpf/"):
            continue
        for struct, body in STRUCT.findall(strip(text)):
            for line in FIELDS.findall(body):
                for field in re.findall(r"\w+_cnt\b", line):
                    if STATS.search(struct) or LEFT_OUT.match(field):
                        yield struct, field, name


def declared(code):
    """Name of a variable or member, to the structs it may be of."""
    of = {}
    for struct, name in DECLARED.findall(code):
        of.setdefault(name, set()).add(struct)
    return of


def unread_counters(files):
    code = {n: strip(t) for n, t in files.items()
            if n.startswith("src/") and n.endswith((".c", ".h"))}
    local = {n: declared(c) for n, c in code.items()}
    members = {}
    for name in code:
        if name.endswith(".h"):
            for key, structs in local[name].items():
                members.setdefault(key, set()).update(structs)
    uses = {}  # of a field: file, to the places there
    for name in code:
        for m in USE.finditer(code[name]):
            uses.setdefault(m.group(2), {}).setdefault(name, []).append(m)
    errors = []
    for struct, field, header in counters(files):
        if (struct, field) in NOT_SHOWN:
            continue
        if not any(reads(places, n, code[n],
                         lambda base, n=n: local[n].get(base, members.get(base, ())), struct)
                   for n, places in uses.get(field, {}).items()):
            errors.append("%s: nobody shows %s of struct %s" % (header, field, struct))
    return errors


def reads(places, name, code, of, struct):
    """True where the file reads the field; one that counts it itself must hand it on."""
    reads_it = counts_it = False
    for m in places:
        if struct not in of(m.group(1)):
            continue
        if m.group(3):
            counts_it = True
            continue
        reads_it = True
        statement = code[max(code.rfind(";", 0, m.start()), code.rfind("{", 0, m.start())) + 1:
                         m.end()]
        if name.startswith(SHOWS) or HANDS_ON.search(statement):
            return True
    return reads_it and not counts_it


# Called by tests alone, each for a reason: it shows what cannot be seen from outside.
TESTED_ONLY = {
    "automaton_bytes", "automaton_step", "control_pause", "control_shutdown", "control_walk",
    "gopcln_name", "gopcln_sp_begin", "gopcln_sp_next", "in_all_bytes", "jsontok_error",
    "jsontok_init_mem", "kbtf_parse", "moments_cov", "pbout_i64", "pbout_str", "sig_find",
    "spans_read_bytes", "spans_reader_of", "tape_dropped_batches", "unw_layout_row",
}
PROTOTYPE = re.compile(r"^(?!static|typedef|#|extern|struct \w+ \{)[a-z][\w \t*]*?\b(\w+)\(", re.M)
WORD = re.compile(r"\b[a-z_]\w*\b")


def unused_functions(files):
    """Functions of a header that nothing but tests names, beside where they are defined."""
    uses, tested = {}, set()
    for name, text in files.items():
        if name.startswith("src/") and name.endswith((".c", ".h")):
            for word in WORD.findall(strip(text)):
                uses[word] = uses.get(word, 0) + 1
        elif name.startswith(("tests/", "bench/")) and name.endswith((".c", ".h")):
            tested.update(WORD.findall(text))
    errors = []
    for name, text in sorted(files.items()):
        if not name.startswith("src/") or not name.endswith(".h") or name.startswith("src/bpf/"):
            continue
        for func in PROTOTYPE.findall(strip(text)):
            # its prototype and its definition
            if uses[func] > 2 or (func in tested and func in TESTED_ONLY):
                continue
            errors.append("%s: %s is called by %s" % (name, func, "tests alone" if func in tested
                                                      else "nobody"))
    return errors


CHECKS = [
    ("counters-are-shown", unread_counters),
    ("functions-are-called", unused_functions),
]
