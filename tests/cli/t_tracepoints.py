# SPDX-License-Identifier: Apache-2.0
"""heldup tracepoints: of a small program whose notes are written by hand, and of real ones."""
import contextlib
import glob
import json
import os
import re
import subprocess
import tempfile

from heldup_cli import FAILED, OK, USAGE, Skip, heldup

NOTE = r"""
#define USDT(provider, name, args) __asm__ volatile( \
	"990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n" \
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte 0\n" \
	".asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"" args "\"\n994: .balign 4\n" \
	".popsection\n.ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n.weak _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.popsection\n.endif\n")
#include <unistd.h>
__attribute__((noinline)) void twice(void) { USDT("shop", "sold", "-4@%edi 8@8(%rsp)"); }
__attribute__((noinline)) int shop_open(void) { return 1; }
int shop_close(int) __asm__("_ZN4shop5closeEi");
int shop_close(int x) { return x; }
int main(void)
{
	USDT("shop", "sold", "-4@%esi");
	USDT("shop", "opened", "");
	USDT("till", "broken\033[31m", "1@$0");
	twice();
	write(1, "x", 1);
	pause();
	return shop_open() + shop_close(2);
}
"""


@contextlib.contextmanager
def shop():
    with tempfile.TemporaryDirectory(prefix="heldup-tp-") as folder:
        with open(folder + "/shop.c", "w") as f:
            f.write(NOTE)
        subprocess.run(["gcc", "-O1", "-w", "-rdynamic", "-o", folder + "/shop",
                        folder + "/shop.c"], check=True)
        p = subprocess.Popen([folder + "/shop"], stdout=subprocess.PIPE)
        try:
            assert p.stdout.read(1) == b"x"
            yield p.pid, folder + "/shop"
        finally:
            p.kill()
            p.wait()
            p.stdout.close()


def listed(pid, *args):
    r = heldup("tracepoints", "-p", str(pid), "--json", *args).ended(OK)
    return json.loads(r.out)["processes"][0]


def readelf_usdt(path):
    """PROVIDER:NAME -> places, as binutils reads the notes."""
    out = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True).stdout
    found = {}
    for provider, name in re.findall(r"Provider: (\S+)\s+Name: (\S+)", out):
        key = "%s:%s" % (provider, name)
        found[key] = found.get(key, 0) + 1
    return found


def test_tracepoints_of_a_program():
    with shop() as (pid, path):
        found = {p["name"]: p for p in listed(pid)["usdt"] if p["path"] == path}
        assert set(found) == {"shop:sold", "shop:opened", "till:broken\033[31m"}, set(found)
        assert found["shop:sold"]["places"] == 2 and found["shop:opened"]["args"] == ""
        out = subprocess.run(["objdump", "-d", path], capture_output=True, text=True).stdout
        at = re.search(r"^\s+%x:\s+90\s+nop" % found["shop:opened"]["vaddr"], out, re.M)
        assert at, "no nop at %#x" % found["shop:opened"]["vaddr"]
        r = heldup("tracepoints", "-p", str(pid)).ended(OK)
        r.prints(r"shop:sold  -4@%esi  in 2 places|shop:sold  -4@%edi 8@8\(%rsp\)  in 2 places")
        assert "\033" not in r.out, "a name reaches the terminal as it is"


def test_tracepoints_that_match():
    with shop() as (pid, path):
        names = [p["name"] for p in listed(pid, "-m", "^shop:o")["usdt"]]
        assert names == ["shop:opened"], names
        found = listed(pid, "-f", "-m", "^shop(_open|::close)$")
        names = [p["name"] for p in found["functions"] if p["path"] == path]
        assert sorted(names) == ["shop::close(int)", "shop_open"], names
        assert found["usdt"] == []
        few = listed(pid, "-f", "-n", "1")
        assert len(few["functions"]) == 1 and few["omitted"] > 100, few["omitted"]
        all_of = listed(pid, "-f", "-n", "0")
        assert all_of["omitted"] == 0 and len(all_of["functions"]) > 100


def test_tracepoints_on_the_command_line():
    heldup("tracepoints").ended(USAGE).one_line().says("which process")
    heldup("tracepoints", "-p", "1", "-m", "(").ended(USAGE).one_line().says("regular expression")
    heldup("tracepoints", "-p", "4194304").ended(FAILED).one_line()


def test_tracepoints_of_real_programs():
    """The same as binutils lists, for the files that have any."""
    files = glob.glob("/usr/lib/postgresql/*/bin/postgres") + \
        glob.glob("/usr/lib/jvm/*/lib/server/libjvm.so") + ["/lib/x86_64-linux-gnu/libc.so.6"]
    code = ("import mmap,sys,time\nfiles=[open(p,'rb') for p in sys.argv[1:]]\n"
            "keep=[mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ|mmap.PROT_EXEC) for f in files]\n"
            "print('x',end='',flush=True)\ntime.sleep(60)\n")
    if len(files) < 2:
        raise Skip("neither PostgreSQL nor a Java VM is installed")
    p = subprocess.Popen(["/usr/bin/python3", "-c", code, *files], stdout=subprocess.PIPE)
    try:
        assert p.stdout.read(1) == b"x"
        found = {}
        for point in listed(p.pid, "-n", "0")["usdt"]:
            found.setdefault(point["path"], {})[point["name"]] = point["places"]
        for path in files:
            real = os.path.realpath(path)
            assert found.get(real, {}) == readelf_usdt(real), path
    finally:
        p.kill()
        p.wait()
        p.stdout.close()
