# SPDX-License-Identifier: Apache-2.0
"""heldup serve, status, log and show: settings, and stores that are not there."""
import json
import os
import shutil
import sqlite3
import tempfile

from heldup_cli import FAILED, OK, TOP, USAGE, heldup


def settings(text):
    f = tempfile.NamedTemporaryFile("w", suffix=".conf")
    f.write(text)
    f.flush()
    return f


def check(text):
    with settings(text) as f:
        return heldup("serve", "--check", "--config", f.name)


def test_serve_check_says_fine():
    check("[serve]\nkeep-size = 1G\n[service web]\nport = 80\n").ended(OK).prints(r": fine\n")


def test_serve_check_names_each_line():
    r = check("[serve]\nkeep-size = much\nwindow = 2h\n[service web]\nport = 99999\n").ended(USAGE)
    for line in (2, 3, 5):
        r.says(r"\.conf:%d: " % line)
    r.says(r"3 errors")


def test_serve_open_address_needs_a_token():
    check("[serve]\nlisten = 0.0.0.0:80\n").ended(FAILED).says(r"set a token")
    check("[serve]\nlisten = 0.0.0.0:80\ntoken = x\n").ended(OK)
    check("[serve]\nlisten = nowhere\n").ended(USAGE).says(r"ADDRESS:PORT")


def test_serve_webhook():
    check("[serve]\nwebhook = ftp://x/\n").ended(USAGE).says(r"https://HOST")
    check("[serve]\nwebhook-format = xml\n").ended(USAGE).says(r"conf:2: .*plain or alertmanager")


def test_serve_missing_settings():
    heldup("serve", "--check", "--config", "/nonexistent").ended(FAILED).says(r"/nonexistent")


def test_serve_nothing_is_kept():
    with tempfile.TemporaryDirectory() as folder:
        for words in (("status",), ("log",), ("show", "1"), ("why", "web", "--since", "-5min"),
                      ("requests", "--since", "10m")):
            heldup(*words, "--state", folder).ended(FAILED).one_line().says(r"heldup serve")


def test_serve_store_of_a_newer_version_is_left_alone():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "heldup.db")
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version=9999")
            db.execute("CREATE TABLE t(a)")
        db.close()
        with open(path, "rb") as f:
            before = f.read()
        heldup("log", "--state", folder).ended(FAILED).says(r"newer heldup")
        with open(path, "rb") as f:
            assert f.read() == before
        assert os.listdir(folder) == ["heldup.db"]


def test_serve_wrong_words():
    heldup("show").ended(USAGE).says(r"number of a finding")
    heldup("show", "one").ended(USAGE)
    heldup("log", "--since", "when").ended(USAGE).says(r"03:10")
    heldup("serve", "--service", "web", "--check").ended(USAGE).says(r"NAME=port:N")


def test_serve_why_of_a_part_of_a_capture():
    """It says which part it has, and what of the one that was asked for is missing."""
    cap = os.path.join(TOP, "tests", "golden", "lock_held.cap")
    r = heldup("why", "-i", cap, "--since", "2020-01-01", "--until", "2099-12-31T00:00:00Z").ended(OK)
    r.prints(r"LOCK HELD TOO LONG")
    r.prints(r"watched 1\.0 s").prints(r"nothing of that time is kept")
    heldup("why", "-i", cap, "--since", "2020-01-01", "--until", "2020-01-02").ended(FAILED).says(
        r"nothing of that time")
    heldup("why", "-i", cap, "--since", "-1h").ended(FAILED).says(r"nothing of that time")
    heldup("why", "-i", cap, "--since", "03:10x").ended(USAGE).says(r"03:10")
    heldup("why", "-i", cap, "--since", "2021-01-02", "--until", "2021-01-01").ended(USAGE).says(
        r"not after")


def test_serve_why_of_the_past_says_what_it_cannot():
    heldup("why", "web", "--until", "-5min").ended(USAGE).says(r"--since")
    heldup("why", "-a", "--since", "-5min").ended(USAGE).says(r"by service")
    heldup("why", "web", "--since", "-5min", "-o", "x.cap").ended(USAGE).says(r"watches nothing")


def test_serve_diff():
    """Two captures: both verdicts, and what differs; words that are neither."""
    caps = [os.path.join(TOP, "tests", "golden", n + ".cap") for n in ("lock_held", "deadlock")]
    r = heldup("diff", *caps).ended(OK)
    r.prints(r"lock held too long").prints(r"deadlock").prints(r"requests answered: 0 1/s, was 897/s")
    r = heldup("diff", caps[0], caps[0]).ended(OK).prints(r"the same: requests")
    got = json.loads(heldup("diff", "--json", *caps).ended(OK).out)
    assert got["a"]["verdict"]["class"] == "lock-held" and got["b"]["verdict"]["class"] == "deadlock"
    assert got["compared"] and got["changes"], got
    with tempfile.TemporaryDirectory() as folder:
        state = ("--state", folder)
        heldup("diff", "1", "2", *state).ended(FAILED).one_line().says(r"heldup serve")
        heldup("diff", "03:10", caps[0], *state).ended(FAILED).one_line().says(r"heldup serve")
    heldup("diff", "1").ended(USAGE).says(r"heldup diff 3 7")
    heldup("diff", "x y", "1").ended(USAGE).says(r"no finding's number")


def kept(folder):
    """A store with one finding, whose capture is one of tests/golden; the time of that."""
    cap = os.path.join(TOP, "tests", "golden", "lock_held.cap")
    got = json.loads(heldup("diff", "--json", cap, cap).ended(OK).out)["a"]
    begin, end = got["begin_ns"], got["begin_ns"] + got["length_ns"]
    os.mkdir(os.path.join(folder, "captures"))
    shutil.copy(cap, os.path.join(folder, "captures", "1.heldup"))
    db = sqlite3.connect(os.path.join(folder, "heldup.db"))
    db.executescript("""
        CREATE TABLE findings(id INTEGER PRIMARY KEY, service TEXT, rule TEXT, reason TEXT,
            begin_ns INTEGER, last_ns INTEGER, end_ns INTEGER, again INTEGER, bytes INTEGER,
            class TEXT, title TEXT, confidence TEXT, summary TEXT, note TEXT,
            capture_from_ns INTEGER, capture_until_ns INTEGER, judged_from_ns INTEGER,
            judged_until_ns INTEGER);
        CREATE TABLE services(name TEXT PRIMARY KEY, what TEXT, pid INTEGER, seen_ns INTEGER,
            answers INTEGER, p50_ns INTEGER, p99_ns INTEGER, open INTEGER);
        PRAGMA user_version=2;""")
    db.execute("INSERT INTO findings VALUES(1,'web','slow','r',?,?,?,0,9,'','','','','',?,?,?,0)",
               (begin, end, end, begin, end, begin))
    for name, what, pid in (("web", "unit nginx.service, port 80", 7), ("db", "port 5432", 8)):
        db.execute("INSERT INTO services VALUES(?,?,?,0,0,0,0,0)", (name, what, pid))
    db.commit()
    db.close()
    return begin // 10**9, end // 10**9


def test_serve_why_of_the_past_from_a_finding():
    with tempfile.TemporaryDirectory() as folder:
        begin, end = kept(folder)
        when = ("--since", "@%d" % (begin - 60), "--until", "@%d" % (end + 1), "--state", folder)
        for who in (("web",), ("-u", "nginx"), ("--port", "80"), ("-p", "7")):
            r = heldup("why", *who, *when).ended(OK).prints(r"LOCK HELD TOO LONG")
            r.prints(r"from\s+the\s+capture\s+of\s+finding\s+1").prints(r"nothing of that time is kept")
        heldup("why", "db", *when).ended(FAILED).one_line().says(r"captures of findings: 0")
        heldup("why", "other", *when).ended(FAILED).one_line().says(r"no such service; it has db, web")
        heldup("why", *when).ended(USAGE).one_line().says(r"which service.*db, web")
        heldup("why", "web", "--since", "-5min", "--state", folder).ended(FAILED).one_line().says(
            r"nothing of web is kept.*captures of findings: 1")
        r = heldup("diff", "1", "@%d..@%d" % (begin, end + 1), "--service", "web", "--state", folder)
        r.ended(OK).prints(r"finding 1 of web").prints(r"the same: requests")
