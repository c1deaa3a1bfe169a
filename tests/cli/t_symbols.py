# SPDX-License-Identifier: Apache-2.0
"""heldup symbols: names of one small program, in each of the ways in which it can be built."""
import contextlib
import glob
import json
import lzma
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from heldup_cli import FAILED, OK, RIGHTS, USAGE, Skip, heldup, heldup_as_nobody

# C, with the symbols that C++ would have given.
SOURCE = r"""
#include <stdlib.h>
#include <unistd.h>
#define KEEP __attribute__((noinline, used))
KEEP static int quiet(int x) __asm__("_ZL5quieti");
KEEP static int quiet(int x) { return x * 7 + getpid(); }
KEEP int exported(int x) __asm__("_Z8exportedi");
KEEP int exported(int x) { return quiet(x) + 1; }
int weak_alias(int x) __attribute__((weak, alias("_Z8exportedi")));
KEEP static int picked(void) { return 3; }
KEEP void *resolve(void) { return picked; }
int by_cpu(void) __attribute__((ifunc("resolve")));
__asm__(".text\n.globl unsized\n.type unsized,@function\nunsized: .cfi_startproc\n"
	"nop\nnop\nnop\nret\n.cfi_endproc\n");
KEEP int add(const long *t) __asm__("_ZN4shop4CartIlE3addERKl");
KEEP int add(const long *t) { return *t + quiet(1); }
KEEP __attribute__((cold)) void never(int x) { quiet(x); }
KEEP void thrown(int x) { if (x == 12345) { never(x); quiet(x); abort(); } quiet(3); quiet(x); }
int main(int argc, char **argv)
{
	long one = argc;
	thrown(argc);
	if (argc > 1 && (chroot(argv[1]) || chdir("/")))
		return 3;
	write(1, "x", 1);
	pause();
	return exported(argc) + by_cpu() + add(&one);
}
"""

def sh(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def built(*flags):
    """A folder with `prog` in it."""
    with tempfile.TemporaryDirectory(prefix="heldup-sym-") as folder:
        os.chmod(folder, 0o755)
        with open(folder + "/prog.c", "w") as f:
            f.write(SOURCE)
        sh("gcc", "-O2", "-w", "-Wl,--build-id", "-o", folder + "/prog", folder + "/prog.c",
           *flags)
        yield folder


@contextlib.contextmanager
def running(path, *args, cwd=None):
    p = subprocess.Popen([path, *args], stdout=subprocess.PIPE, cwd=cwd)
    try:
        assert p.stdout.read(1) == b"x", "it does not start"
        yield p.pid
    finally:
        p.kill()
        p.wait()
        p.stdout.close()


def report(pid, *args, env=None):
    r = heldup("symbols", "-p", str(pid), "--json", *args, env=env).ended(OK)
    return json.loads(r.out)["processes"][0]


def row(pid, *args, name="prog", env=None):
    return [m for m in report(pid, *args, env=env)["mappings"] if os.path.basename(m["path"]) == name][0]


def base_of(pid, path):
    with open("/proc/%d/maps" % pid) as f:
        for line in f:
            words = line.split()
            if len(words) > 5 and words[5] == path and words[2] == "00000000":
                return int(words[0].split("-")[0], 16)
    raise AssertionError("%s is not mapped" % path)


def functions(path):
    """name -> (address, size) from nm, which is not ours."""
    out = subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.split("\n"):
        words = line.split()
        if len(words) == 4 and words[2] in "tTwWi":
            found[words[3]] = int(words[0], 16), int(words[1], 16)
        elif len(words) == 3 and words[1] in "tT":
            found[words[2]] = int(words[0], 16), 0
    return found


def names_at(pid, addrs, *args, env=None):
    """{address: (short, full, offset)} of the function itself."""
    found = report(pid, *args, *["%x" % a for a in addrs], env=env)["addresses"]
    assert len(found) == len(addrs)
    return {int(a["address"], 16): (a["frames"][-1]["fn"], a["frames"][-1]["full"], a["off"])
            for a in found}


WANT = {"_ZL5quieti": ("quiet", "quiet(int)"), "_Z8exportedi": ("exported", "exported(int)"),
        "unsized": ("unsized", "unsized"),
        "_ZN4shop4CartIlE3addERKl": ("shop::Cart::add", "shop::Cart<long>::add(long const&)"),
        "main": ("main", "main")}


def check_names(pid, nm, base, *args, only=None, env=None):
    want = {base + nm[s][0] + off: WANT[s] + (off,) for s in WANT for off in (0, 2)
            if only is None or s in only}
    got = names_at(pid, sorted(want), *args, env=env)
    for addr, (fn, full, off) in want.items():
        assert got[addr] == (fn, full, off), "at %#x: %s, not %s" % (addr, got[addr], (fn, full, off))


def test_symbols_of_a_whole_program():
    with built() as folder, running(folder + "/prog") as pid:
        prog = folder + "/prog"
        nm, base = functions(prog), base_of(pid, prog)
        r = row(pid)
        assert r["source"] == ".symtab" and r["improve"] == "" and r["problem"] is None, r
        check_names(pid, nm, base)
        # every function that nm knows has the name nm knows
        sized = {base + a: s for s, (a, size) in nm.items() if size}
        got = names_at(pid, sorted(sized)[:200])
        demangled = subprocess.run(["c++filt", "-p"], input="\n".join(nm), text=True,
                                   capture_output=True, check=True).stdout.split("\n")
        plain = dict(zip(nm, demangled))
        aliases = {}
        for s, (a, _) in nm.items():
            aliases.setdefault(base + a, set()).add(re.sub(r"<.*?>|\.cold.*", "", plain[s]))
        for addr in sorted(sized)[:200]:
            assert got[addr][0] in aliases[addr], (hex(addr), got[addr], aliases[addr])
        # the part that is seldom run belongs to its function
        cold = [base + a for s, (a, size) in nm.items() if s.endswith(".cold") and "thrown" in s]
        assert cold, "the compiler made no cold part"
        assert names_at(pid, cold)[cold[0]][0] == "thrown"


def test_symbols_of_a_static_program():
    with built("-static", "-no-pie") as folder, running(folder + "/prog") as pid:
        check_names(pid, functions(folder + "/prog"), 0)


def test_symbols_of_a_stripped_program():
    with built("-rdynamic") as folder:
        nm = functions(folder + "/prog")
        sh("strip", folder + "/prog")
        with running(folder + "/prog") as pid:
            base = base_of(pid, folder + "/prog")
            r = row(pid)
            assert r["source"] == ".dynsym" and r["unnamed"] > 0 and r["improve"], r
            check_names(pid, nm, base, only=["_Z8exportedi", "main"])
            start = nm["_ZL5quieti"][0]
            got = names_at(pid, [base + start, base + start + 5])
            for off in (0, 5):
                want = ("prog+%#x" % start,) * 2 + (off,)
                assert got[base + start + off] == want, got


def test_symbols_of_stubs():
    with built("-Wl,-z,lazy") as folder, running(folder + "/prog") as pid:
        out = subprocess.run(["objdump", "-d", "-j", ".plt.sec", "-j", ".plt", folder + "/prog"],
                             capture_output=True, text=True).stdout
        stubs = re.findall(r"^([0-9a-f]+) <(getpid|pause|chroot)@plt>:", out, re.M)
        if not stubs:
            raise Skip("objdump names no stubs")
        base = base_of(pid, folder + "/prog")
        got = names_at(pid, [base + int(a, 16) for a, _ in stubs])
        for addr, name in stubs:
            assert got[base + int(addr, 16)][0] == name + "@plt", (addr, name, got)


def split(folder):
    """Strips prog; what nm knew, with all symbols in prog.debug."""
    nm = functions(folder + "/prog")
    sh("objcopy", "--only-keep-debug", folder + "/prog", folder + "/prog.debug")
    sh("strip", folder + "/prog")
    return nm


def test_symbols_in_debugdata():
    with built() as folder:
        nm = split(folder)
        sh("strip", "-g", "--keep-section=.symtab", folder + "/prog.debug")
        with open(folder + "/prog.debug", "rb") as f, lzma.open(folder + "/packed.xz", "wb") as out:
            out.write(f.read())
        sh("objcopy", "--add-section", ".gnu_debugdata=" + folder + "/packed.xz", folder + "/prog")
        with running(folder + "/prog") as pid:
            assert row(pid)["source"] == ".gnu_debugdata", row(pid)
            check_names(pid, nm, base_of(pid, folder + "/prog"))


def test_symbols_by_debug_link():
    for flags in ((), ("-Wl,--build-id=none",)):
        with built(*flags) as folder:
            nm = split(folder)
            sh("objcopy", "--add-gnu-debuglink=" + folder + "/prog.debug", folder + "/prog")
            os.mkdir(folder + "/.debug")
            os.rename(folder + "/prog.debug", folder + "/.debug/prog.debug")
            with running(folder + "/prog") as pid:
                r = row(pid)
                assert r["source"] == "debug file", r
                assert r["debug_file"].endswith("/.debug/prog.debug"), r
                check_names(pid, nm, base_of(pid, folder + "/prog"))
                assert row(pid, "--no-debug-files")["source"] != "debug file"
                # a debug file of another program is not taken
                with open(folder + "/.debug/prog.debug", "wb") as f, \
                        open("/bin/true", "rb") as other:
                    f.write(other.read())
                assert row(pid)["source"] != "debug file"


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def in_root(folder, at="/"):
    """prog in a root of its own below folder, with an inner path."""
    inner = folder + "/base" + at
    os.makedirs(inner, exist_ok=True)
    os.makedirs(folder + "/base/tmp", exist_ok=True)
    shutil.move(folder + "/prog", inner + "/prog")
    return inner + "/prog"


def test_symbols_in_another_root():
    need_root()
    with built("-static") as folder:
        nm = split(folder)
        prog = in_root(folder)
        note = subprocess.run(["readelf", "-n", prog], capture_output=True, text=True).stdout
        build_id = re.search(r"Build ID: ([0-9a-f]+)", note).group(1)
        debug = folder + "/base/usr/lib/debug/.build-id/" + build_id[:2]
        os.makedirs(debug)
        os.rename(folder + "/prog.debug", debug + "/" + build_id[2:] + ".debug")
        with running(prog, folder + "/base") as pid:
            r = row(pid)
            assert r["source"] == "debug file" and r["build_id"] == build_id, r
            with open("/proc/%d/maps" % pid) as f:
                base = int(f.read().split("-")[0], 16)
            check_names(pid, nm, 0 if nm["main"][0] >= 0x400000 else base)


def test_symbols_of_a_replaced_program():
    need_root()
    with built() as folder, running(folder + "/prog") as pid:
        nm, base = functions(folder + "/prog"), base_of(pid, folder + "/prog")
        os.rename(folder + "/prog", folder + "/old")
        shutil.copy("/bin/true", folder + "/prog")
        os.unlink(folder + "/old")
        r = row(pid, name="old") if any("old" in m["path"] for m in report(pid)["mappings"]) \
            else row(pid)
        assert r["deleted"] and r["source"] == ".symtab", r
        check_names(pid, nm, base)


def perf_map(pid, folder, text, uid=None):
    path = "%s/base/tmp/perf-%d.map" % (folder, pid)
    with open(path, "w") as f:
        f.write(text)
    if uid is not None:
        os.chown(path, uid, uid)
    return path


def test_symbols_of_code_made_at_run_time():
    need_root()
    with built("-static", "-no-pie") as folder:
        prog = in_root(folder)
        with running(prog, folder + "/base") as pid:
            assert report(pid)["jit"]["named"] == 0
            path = perf_map(pid, folder, "10000 100 LazyCompile:*serve /app.js:3\nnonsense\n")
            jit = report(pid, "10010")
            assert jit["jit"]["named"] == 1 and jit["jit"]["refused"] == 1, jit["jit"]
            frame = jit["addresses"][0]
            assert frame["frames"][0]["fn"] == "LazyCompile:*serve /app.js:3", frame
            assert frame["off"] == 0x10 and frame["source"] == "perf map", frame
            # somebody else's file is not believed, and no link leads out of the root
            os.chown(path, 65534, 65534)
            assert report(pid)["jit"]["named"] == 0 and "belongs to" in report(pid)["jit"]["problem"]
            os.chown(path, 0, 0)
            os.utime(path, (1000, 1000))  # of an earlier process with this number
            jit = report(pid)["jit"]
            assert jit["named"] == 0 and "older than the process" in jit["problem"], jit
            os.unlink(path)
            outside = folder + "/outside.map"
            with open(outside, "w") as f:
                f.write("10000 100 secret\n")
            for target in (outside, "/proc/self/root" + outside, "../../../../../.." + outside):
                os.symlink(target, path)
                assert report(pid)["jit"]["named"] == 0, target
                os.unlink(path)
            # nor to what only root may read: no runtime makes its map a link
            with open(folder + "/base/own.map", "w") as f:
                f.write("10000 100 secret\n")
            os.symlink("/own.map", path)
            jit = report(pid)["jit"]
            assert jit["named"] == 0 and "symbolic link" in jit["problem"], jit
            heldup("symbols", "-p", str(pid)).ended(OK).prints("is a symbolic link: not read")
            os.unlink(path)
            os.mkfifo(path)
            assert report(pid)["jit"]["named"] == 0


def test_symbols_tell_what_they_skip_of_a_map():
    need_root()
    with built("-static", "-no-pie") as folder:
        prog = in_root(folder)
        with running(prog, folder + "/base") as pid:
            line = "10000 100 fn\n"
            path = perf_map(pid, folder, line + "nonsense\n" + "x" * 1000000 + "\n")
            heldup("symbols", "-p", str(pid)).ended(OK).prints("1 name in .*, 2 lines skipped")
            os.truncate(path, 200 << 20)  # a hole
            heldup("symbols", "-p", str(pid)).ended(OK) \
                .prints("1 name in .*, 3 lines skipped.*, its last 72.0 MiB not read")
            assert report(pid)["jit"]["unread_bytes"] == 72 << 20
            perf_map(pid, folder, "nonsense\n")
            heldup("symbols", "-p", str(pid)).ended(OK).prints("0 names in .*, 1 line skipped")


def test_symbols_of_a_damaged_file():
    code = ("import mmap,sys,time\nf=open(sys.argv[1],'rb')\n"
            "m=mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ|mmap.PROT_EXEC)\n"
            "print('x',end='',flush=True)\ntime.sleep(60)\n")
    with built() as folder:
        with open(folder + "/prog", "rb") as f:
            whole = f.read()
        damaged = {"cut": whole[:len(whole) * 2 // 3], "text": b"#!/bin/sh\n" * 500,
                   "header": whole[:40] + b"\xff" * 8 + whole[48:],
                   "tables": whole[:0x40] + b"\xa5" * 0x400 + whole[0x440:]}
        for name, data in damaged.items():
            with open(folder + "/" + name, "wb") as f:
                f.write(data)
            with running("/usr/bin/python3", "-c", code, folder + "/" + name) as pid:
                r = row(pid, name=name)
                assert r["problem"] or r["source"] != ".symtab" or r["named"] > 0, (name, r)
                heldup("symbols", "-p", str(pid)).ended(OK)


def test_symbols_on_the_command_line():
    me = str(os.getpid())
    heldup("symbols").ended(USAGE).one_line().says("which process")
    for word in ("xyz", "-", "0x", "123456789abcdef01", "12 "):
        heldup("symbols", "-p", me, "--", word).ended(USAGE).one_line()
    heldup("symbols", "-p", "4194304").ended(FAILED).one_line().says("no process has pid")
    r = heldup("symbols", "-p", me).ended(OK)
    r.prints(r"files with code, and what names their functions").prints(r"\[vdso\]")
    if os.geteuid() == 0:
        heldup_as_nobody("symbols", "-p", "1").ended(RIGHTS).one_line().says("root")


def test_symbols_waits_no_longer_for_debuginfod():
    """A server that takes the question and never answers."""
    with socket.socket() as s, built() as folder, tempfile.TemporaryDirectory() as cache:
        split(folder)
        s.bind(("127.0.0.1", 0))
        s.listen(8)
        env = {"DEBUGINFOD_URLS": "http://127.0.0.1:%d" % s.getsockname()[1],
               "DEBUGINFOD_CACHE_PATH": cache}
        with running(folder + "/prog") as pid:
            start = time.monotonic()
            r = heldup("symbols", "-p", str(pid), "--json", "--debuginfod", "1s", env=env).ended(OK)
            took = time.monotonic() - start
            stats = json.loads(r.out)["stats"]
            if not stats["debuginfod_late"]:
                raise Skip("libdebuginfod is not installed")
            assert took < 6, "it took %.1f s" % took
            start = time.monotonic()
            heldup("symbols", "-p", str(pid), "--debuginfod", "0s", env=env).ended(OK)
            assert time.monotonic() - start < 2


def endless(listener, sent, announced):
    """Answers each question with a body that has no end; sent[0] counts its bytes."""
    def answer(conn):
        with conn, contextlib.suppress(OSError):
            conn.recv(65536)
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n")
            conn.sendall(b"Content-Length: 99000000000\r\n\r\n" if announced else b"\r\n")
            while True:
                sent[0] += conn.send(bytes(1 << 20))

    with contextlib.suppress(OSError):
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def check_endless(announced, seconds, most):
    with socket.socket() as s, built() as folder, tempfile.TemporaryDirectory() as cache:
        split(folder)
        sent = [0]
        s.bind(("127.0.0.1", 0))
        s.listen(8)
        threading.Thread(target=endless, args=(s, sent, announced), daemon=True).start()
        env = {"DEBUGINFOD_URLS": "http://127.0.0.1:%d" % s.getsockname()[1],
               "DEBUGINFOD_CACHE_PATH": cache}
        with running(folder + "/prog") as pid:
            r = heldup("symbols", "-p", str(pid), "--json", "--debuginfod", "%ds" % seconds,
                       env=env).ended(OK)
        s.shutdown(socket.SHUT_RDWR)
        stats = json.loads(r.out)["stats"]
        if not sent[0]:
            raise Skip("libdebuginfod is not installed")
        assert sent[0] < most, "%d MB were fetched" % (sent[0] / 1e6)
        assert stats["debuginfod_over"] or not announced and stats["debuginfod_late"], stats
        kept = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(cache)
                   for name in names)
        assert kept < 4096, "%d bytes stay in the cache" % kept


def test_symbols_fetches_no_endless_debug_file():
    check_endless(False, 1, 125e6 + 32e6)  # what is in the sockets besides


def test_symbols_fetches_no_debug_file_that_is_too_large():
    check_endless(True, 2, 32e6)


MAP_FILES = ("import mmap,sys,time\nfiles=[open(p,'rb') for p in sys.argv[1:]]\n"
             "keep=[mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ|mmap.PROT_EXEC) for f in files]\n"
             "print('x',end='',flush=True)\ntime.sleep(60)\n")


def test_symbols_of_real_programs():
    """Each exported function has the name that binutils gives its address."""
    files = [os.path.realpath(p) for pattern in (
        "/usr/sbin/mariadbd", "/usr/lib/postgresql/*/bin/postgres", "/usr/bin/redis-server",
        "/usr/bin/node", "/usr/lib/jvm/*/lib/server/libjvm.so", "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/x86_64-linux-gnu/libcrypto.so.3", "/lib/x86_64-linux-gnu/libstdc++.so.6")
        for p in glob.glob(pattern)]
    with running("/usr/bin/python3", "-c", MAP_FILES, *files) as pid:
        for path in files:
            want = exported_of(path)
            with open("/proc/%d/maps" % pid) as f:
                start = [int(m.split("-")[0], 16) for m in f if m.split()[-1] == path
                         and "x" in m.split()[1] and m.split()[2] == "00000000"][0]
            picked = sorted(want)[::max(1, len(want) // 200)][:200]
            got = names_at(pid, [start + a for a in picked], "--no-debug-files")
            for off in picked:
                full = without_clones(got[start + off][1])
                ok = any(full == w or (full.endswith("...") and w.startswith(full[:-3]))
                         for w in want[off])
                assert ok, "%s %#x: %s, not %s" % (path, off, full, want[off])


def without_clones(name):
    """Without what a compiler's copy or part is marked with, which binutils writes otherwise."""
    return re.sub(r"( \[(clone )?\.[^]]*\])+$", "", name)


def exported_of(path):
    """File offset -> names of the functions that start there, demangled."""
    head = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
    loads = [[int(x, 16) for x in m] for m in
             re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", head)]
    out = subprocess.run(["nm", "-D", "--defined-only", "--without-symbol-versions", path],
                         capture_output=True, text=True).stdout
    if os.path.exists(path) and ".symtab" in subprocess.run(
            ["readelf", "-SW", path], capture_output=True, text=True).stdout:
        out += subprocess.run(["nm", path], capture_output=True, text=True).stdout
    words = [line.split() for line in out.split("\n")]
    words = [w for w in words if len(w) == 3 and w[1] in "TtWwi"]
    plain = subprocess.run(["c++filt", "-i"], input="\n".join(w[2] for w in words), text=True,
                           capture_output=True, check=True).stdout.split("\n")
    found = {}
    for (addr, _, symbol), name in zip(words, plain):
        for off, vaddr, size in loads:
            if vaddr <= int(addr, 16) < vaddr + size:
                found.setdefault(int(addr, 16) - vaddr + off, set()).update(
                    (symbol, without_clones(name)))
    return found


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return int(f.read().split()[0])


def test_symbols_in_other_namespaces():
    """A pid namespace, where the map has the inner number, and a /tmp of its own."""
    need_root()
    with built("-static", "-no-pie") as folder:
        keep = tempfile.mkdtemp(prefix="heldup-sym-", dir="/var/tmp")
        try:
            shutil.move(folder + "/prog", keep + "/prog")
            script = "mount -t tmpfs none /tmp && exec %s/prog" % keep
            with running("unshare", "-p", "-f", "-m", "sh", "-c", script) as outer:
                pid = child_of(outer)
                with open("/proc/%d/root/tmp/perf-1.map" % pid, "w") as f:
                    f.write("10000 100 inside\n")
                jit = report(pid, "10010")
                assert jit["jit"]["perf_map"] == "/tmp/perf-1.map", jit["jit"]
                assert jit["addresses"][0]["frames"][0]["fn"] == "inside", jit["addresses"]
                os.kill(pid, 9)
        finally:
            shutil.rmtree(keep)


JAVA = r"""
public class Spin {
    static double spin(int n) {
        double x = 0;
        for (int i = 0; i < n; i++) x += Math.sqrt(i);
        return x;
    }
    public static void main(String[] args) {
        double x = 0;
        for (int i = 0; i < 300; i++) x += spin(20000);
        System.out.print("x");
        System.out.flush();
        while (true) x += spin(20000);
    }
}
"""


def jit_names_asked(pid, name):
    """Names before and after the VM was asked, and what is at the address of `name`."""
    before = report(pid)["jit"]
    after = report(pid, "--jit")["jit"]
    with open("/proc/%d/root%s" % (pid, after["perf_map"])) as f:
        line = [text for text in f if name in text][0]
    found = report(pid, "%x" % (int(line.split()[0], 16) + 1))["addresses"][0]
    return before, after, found


def test_symbols_asked_of_java():
    java = shutil.which("java")
    if not java or not shutil.which("javac"):
        raise Skip("no JDK is installed")
    with tempfile.TemporaryDirectory(prefix="heldup-java-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        with open(folder + "/Spin.java", "w") as f:
            f.write(JAVA)
        sh("javac", "-d", folder, folder + "/Spin.java")
        command = [java, "-Xmx64m", "-XX:+UseSerialGC", "-cp", folder, "Spin"]
        if os.geteuid() == 0:  # of another user, in namespaces of its own
            script = "mount -t tmpfs none /tmp && chmod 1777 /tmp && exec setpriv " \
                "--reuid 65534 --regid 65534 --clear-groups " + " ".join(command)
            command = ["unshare", "-p", "-f", "-m", "sh", "-c", script]
        with running(*command) as pid:
            pid = child_of(pid) if os.geteuid() == 0 else pid
            try:
                before, after, found = jit_names_asked(pid, "Spin.spin")
            finally:
                os.kill(pid, 9)
            assert before["runtime"] == "Java" and before["named"] == 0, before
            assert "--jit" in before["improve"], before
            assert after["named"] > 50 and after["improve"] == "", after
            assert "Spin.spin" in found["frames"][0]["fn"], found


def test_symbols_of_node():
    node = shutil.which("node")
    if not node:
        raise Skip("Node.js is not installed")
    code = "function burn(){let x=0;for(let i=0;i<1e6;i++)x+=Math.sqrt(i);return x};" \
        "for(let i=0;i<50;i++)burn();process.stdout.write('x');setInterval(burn,50)"
    with running(node, "-e", code) as pid:
        jit = report(pid)["jit"]
        assert jit["runtime"] == "Node.js" and "--perf-basic-prof" in jit["improve"], jit
    with tempfile.TemporaryDirectory() as folder, \
            running(node, "--perf-basic-prof", "-e", code, cwd=folder) as pid:
        _, after, found = jit_names_asked(pid, "burn")
        assert after["named"] > 10 and "burn" in found["frames"][0]["fn"], found
        os.unlink("/tmp/perf-%d.map" % pid)


def test_symbols_say_what_is_read_of_python():
    code = "import time; print('x', flush=True); time.sleep(60)"
    with running("/usr/bin/python3", "-c", code) as pid:
        memory = report(pid)["memory"]
        assert memory["runtime"] == "Python" and memory["threads"] == 1, memory
        assert memory["version"].startswith("3.") and memory["problem"] is None, memory
        text = heldup("symbols", "-p", str(pid)).ended(OK).out
        assert "Python %s: the functions of its 1 thread" % memory["version"] in text, text
        none = heldup("symbols", "-p", str(pid), "--no-runtime-names", "--json").ended(OK)
        assert json.loads(none.out)["processes"][0]["memory"]["runtime"] is None, none.out


def test_symbols_ask_only_java():
    """--jit sends no signal to what is no Java VM; a program of another kind would die of it."""
    with built() as folder, running(folder + "/prog") as pid:
        heldup("symbols", "-p", str(pid), "--jit").ended(OK)
        os.kill(pid, 0)
    with built() as folder:
        shutil.move(folder + "/prog", folder + "/libjvm.so")
        with running(folder + "/libjvm.so") as pid:
            r = heldup("symbols", "-p", str(pid), "--jit").ended(OK)
            assert "does not take requests" in r.err, r.err
            with open("/proc/%d/stat" % pid) as f:
                assert f.read().split()[2] == "S"


INLINED = r"""
#include <unistd.h>
volatile int sink;
static inline __attribute__((always_inline)) void inner(int x)
{
	sink = x;
	__asm__ volatile(".globl marked\nmarked: nop");
	sink = x + 1;
}
static inline __attribute__((always_inline)) void middle(int x) { inner(x + 1); }
__attribute__((noinline)) void outer(int x)
{
	sink = x;
	middle(x + 2);
	sink = 0;
}
int main(int argc, char **argv)
{
	outer(argc);
	write(1, "x", 1);
	pause();
	return 0;
}
"""


def check_inlined(folder, *args):
    with running(folder + "/lines") as pid:
        marked = functions(folder + "/whole")["marked"][0] + base_of(pid, folder + "/lines")
        found = report(pid, *args, "%x" % marked)["addresses"][0]["frames"]
        got = [(f["fn"], os.path.basename(f["file"] or ""), f["line"]) for f in found]
        lines = INLINED.split("\n")
        at = [next(i for i, text in enumerate(lines, 1) if part in text)
              for part in ("marked: nop", "inner(x + 1)", "middle(x + 2)")]
        assert got == [(fn, "lines.c", line)
                       for fn, line in zip(("inner", "middle", "outer"), at)], (got, at)


def test_symbols_with_lines_and_inlined_functions():
    for flags in ((), ("-gz",), ("-gdwarf-4",)):
        with tempfile.TemporaryDirectory(prefix="heldup-sym-") as folder:
            os.chmod(folder, 0o755)
            with open(folder + "/lines.c", "w") as f:
                f.write(INLINED)
            sh("gcc", "-O2", "-g", "-w", *flags, "-Wl,--build-id", "-o", folder + "/lines",
               folder + "/lines.c")
            shutil.copy(folder + "/lines", folder + "/whole")
            check_inlined(folder)
            sh("objcopy", "--only-keep-debug", folder + "/lines", folder + "/lines.debug")
            sh("strip", folder + "/lines")
            sh("objcopy", "--add-gnu-debuglink=" + folder + "/lines.debug", folder + "/lines")
            check_inlined(folder)


def test_symbols_survive_damaged_debug_information():
    with tempfile.TemporaryDirectory(prefix="heldup-sym-") as folder:
        os.chmod(folder, 0o755)
        with open(folder + "/lines.c", "w") as f:
            f.write(INLINED)
        sh("gcc", "-O2", "-g", "-w", "-o", folder + "/whole", folder + "/lines.c")
        out = subprocess.run(["readelf", "-SW", folder + "/whole"], capture_output=True,
                             text=True).stdout
        marked = functions(folder + "/whole")["marked"][0]
        for name in (".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"):
            at, size = [int(x, 16) for x in
                        re.search(re.escape(name) + r"\s+\w+\s+\w+ (\w+) (\w+)", out).groups()]
            for byte in (b"\xff", b"\x80", b"\0", b"\x01"):
                with open(folder + "/whole", "rb") as f:
                    data = f.read()
                with open(folder + "/lines", "wb") as f:
                    f.write(data[:at] + byte * size + data[at + size:])
                os.chmod(folder + "/lines", 0o755)
                with running(folder + "/lines") as pid:
                    addr = marked + base_of(pid, folder + "/lines")
                    frames = report(pid, "%x" % addr)["addresses"][0]["frames"]
                    assert frames[-1]["fn"] == "outer", (name, byte, frames)


def test_symbols_from_debuginfod():
    """A server on loopback; what it sent is found later without it."""
    server = shutil.which("debuginfod")
    if not server:
        raise Skip("debuginfod is not installed")
    with built() as folder, tempfile.TemporaryDirectory() as own:
        nm = split(folder)
        os.mkdir(own + "/files")
        os.rename(folder + "/prog.debug", own + "/files/prog.debug")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        env = {"DEBUGINFOD_URLS": "http://127.0.0.1:%d" % port,
               "DEBUGINFOD_CACHE_PATH": own + "/cache"}
        with running(folder + "/prog") as pid:
            p = subprocess.Popen([server, "-F", own + "/files", "-d", own + "/db", "-p", str(port)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                end = time.monotonic() + 15
                while row(pid, env=env)["source"] != "debuginfod":
                    assert time.monotonic() < end, row(pid, env=env)
                    shutil.rmtree(own + "/cache", ignore_errors=True)
                    time.sleep(0.3)
            finally:
                p.kill()
                p.wait()
            r = row(pid, "--debuginfod", "300ms", env=env)
            assert r["source"] == "debuginfod" and r["lines"] is False, r
            check_names(pid, nm, base_of(pid, folder + "/prog"), "--debuginfod", "1s", env=env)
            assert row(pid, "--debuginfod", "0s", env=env)["source"] != "debuginfod"
