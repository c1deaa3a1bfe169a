# SPDX-License-Identifier: Apache-2.0
"""What a person types first works where nothing is installed yet."""
import os
import re
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def section(text, title):
    m = re.search(r"^## %s\n(.*?)(?=^## |\Z)" % re.escape(title), text, re.S | re.M)
    return m.group(1) if m else ""


def first_commands(files):
    """The README's two commands are scripts that bring make along; CI runs the second."""
    words = [line.split()[0] for line in section(files["README.md"], "Two commands").split("\n")
             if line.startswith("    ") and line.strip()]
    errors = [] if len(words) == 2 else ["README.md: not two commands: %s" % words]
    for word in words:
        name = word[2:]
        text = files.get(name, "")
        if not word.startswith("./") or not os.access(os.path.join(TOP, name), os.X_OK):
            errors.append("README.md: '%s' is no program of the tree" % word)
        elif not text.startswith("#!/bin/sh\n"):
            errors.append("%s: not a script of /bin/sh" % name)
        elif not -1 < text.find("\ntools/deps build") < text.find("\nmake "):
            errors.append("%s: calls make before tools/deps installed it" % name)
    if words and "/../%s\"" % words[-1][2:] not in files[".ci/run"]:
        errors.append(".ci/run: does not run %s" % words[-1])
    return errors


def recipes(*words):
    """What make would run to compile one file of each kind."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "WERROR")}
    argv = ["make", "-n", "-s", *words, "-W", "src/main.c", "-W", "src/bpf/heldup.bpf.c",
            "-W", "tests/load/idle.c", "build/obj/src/main.o", "build/bpf/heldup.bpf.o",
            "build/load/idle"]
    out = subprocess.run(argv, cwd=TOP, env=env, capture_output=True, text=True, timeout=60)
    return [line for line in out.stdout.split("\n") if " -Wall " in line and " -o " in line]


def warnings_fatal(files):
    """A newer compiler's warning stops a developer and CI, and nobody else."""
    errors = []
    for words, fatal in (((), False), (("WERROR=1",), True)):
        lines = recipes(*words)
        if len(lines) < 3:
            errors.append("make %s: compiles %d of 3 files" % (" ".join(words), len(lines)))
        errors += ["make %s: %s -Werror: %s" % (" ".join(words), "no" if fatal else "has",
                                                line.strip()[:80])
                   for line in lines if ("-Werror" in line) != fatal]
    if "WERROR=1" not in files["test"]:
        errors.append("test: does not build with WERROR=1")
    return errors


def runtime_libraries(files):
    """The README and tools/deps name each library that the binary is linked with."""
    out = subprocess.run(["readelf", "-d", os.path.join(TOP, "heldup")], capture_output=True,
                         text=True)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", out.stdout)
    rows = re.findall(r"^\| (`lib.*`) \| `(.*)` \|$", section(files["README.md"], "Install"), re.M)
    listed = {lib: package for libs, package in rows for lib in re.findall(r"`(.*?)`", libs)}
    loaded = re.findall(r'\bdlopen\("([^"]+)"', "\n".join(
        text for name, text in files.items() if name.startswith("src/")))
    errors = ["README.md: Install lacks %s, which is loaded" % lib for lib in loaded
              if "`%s`" % lib not in section(files["README.md"], "Install")]
    group = re.search(r'\[run\]="([^"]*)"', files["tools/deps"])
    packages = group.group(1).split() if group else []
    errors += ["README.md: the table of Install lacks %s" % lib for lib in needed
              if lib not in listed and not lib.startswith("ld-linux")]
    errors += ["README.md: heldup is not linked with %s" % lib for lib in listed
               if lib not in needed]
    errors += ["tools/deps: group run and the README differ in %s" % p
               for p in set(packages) ^ set(listed.values())]
    return errors if needed else ["readelf -d heldup: %s" % (out.stderr.strip() or "no NEEDED")]


def debian_packages(files):
    """What the packages are built with is what tools/deps installs to build."""
    group = re.search(r'\[build\]="([^"]*)"', files["tools/deps"]).group(1).split()
    control = files["packaging/debian/control"]
    depends = re.search(r"^Build-Depends: (.*(?:\n .*)*)", control, re.M).group(1)
    named = set(re.findall(r"[a-z0-9][a-z0-9+.-]+", re.sub(r"\([^)]*\)", "", depends)))
    essential = {"make", "gcc", "libc6-dev", "linux-libc-dev"}  # build-essential
    errors = ["packaging/debian/control: Build-Depends and tools/deps differ in %s" % p
              for p in sorted(set(group) - essential ^ named - {"debhelper-compat"})]
    rest = section(files["README.md"], "Install").split("It looks for three more")[-1]
    loaded = {p for p in re.findall(r"`(lib[a-z0-9.-]+)`", rest) if ".so" not in p}
    return errors + ["packaging/debian/control: does not recommend %s" % p
                     for p in sorted(loaded) if p not in control]


def plain(page):
    """A manual page's text without its fonts and escapes."""
    return re.sub(r"\\f[BIR]|\\&", "", page).replace("\\-", "-").replace("\\e", "\\")


def heldup(*words):
    out = subprocess.run([os.path.join(TOP, "heldup"), *words], capture_output=True, text=True,
                         timeout=20)
    return out.stdout


def manual_pages(files):
    """Pages and completion, as installed, have what -h has: each command, each option, its text."""
    errors = []
    with tempfile.TemporaryDirectory() as root:
        env = {k: v for k, v in os.environ.items() if k != "MAKEFLAGS"}
        made = subprocess.run(["make", "-s", "install", "DESTDIR=" + root, "PREFIX=/usr"], cwd=TOP,
                              env=env, capture_output=True, text=True, timeout=170)
        if made.returncode:
            return ["make install: %s" % made.stderr.strip()[:200]]

        def installed(path):
            try:
                with open(os.path.join(root, "usr", path)) as f:
                    return f.read()
            except OSError as e:
                errors.append("make install: %s" % e)
                return ""

        first = plain(installed("share/man/man1/heldup.1"))
        words = installed("share/bash-completion/completions/heldup")
        zsh = installed("share/zsh/site-functions/_heldup")
        fish = installed("share/fish/vendor_completions.d/heldup.fish")
        usage = heldup("--help")
        for name, text in re.findall(r"^  ([a-z]+)\s{2,}(\S.*)", usage[usage.index("commands:"):],
                                     re.M):
            if name == "help":
                continue
            page = plain(installed("share/man/man1/heldup-%s.1" % name))
            shown = heldup(name, "-h")
            errors += ["heldup.1: no command %s" % name] if "heldup-%s (1)\n%s" % (
                name, text) not in first else []
            errors += ["heldup-%s.1: no NAME" % name] if "heldup-%s - %s" % (
                name, text) not in page and "heldup-%s \\- %s" % (name, text) not in page else []
            options = shown[shown.index("options:"):].split("\nexamples:")[0]
            for option in re.findall(r"^  (?:-\w, |    )?(--[a-z][\w-]*)", options, re.M):
                if not re.search(r"^(-\w, )?%s( |$)" % option, page, re.M):
                    errors.append("heldup-%s.1: no %s" % (name, option))
                if not re.search(r"\t%s\) words=\".* %s[ \"]" % (name, option), words):
                    errors.append("completion of %s: no %s" % (name, option))
                if "'*%s[" % option not in zsh[zsh.find("\t%s) _arg" % name):].split(" ;;")[0]:
                    errors.append("zsh, completion of %s: no %s" % (name, option))
                if not re.search(r"from %s'.* -l %s " % (name, option[2:]), fish):
                    errors.append("fish, completion of %s: no %s" % (name, option))
            known = " ".join(page.split())
            errors += ["heldup-%s.1: lacks the words of %s" % (name, line.split()[0])
                       for line in " ".join(options.split()).split(" --")[1:]
                       if line.split(" -")[0] not in known]
        subprocess.run(["make", "-s", "uninstall", "DESTDIR=" + root, "PREFIX=/usr"], cwd=TOP,
                       env=env, capture_output=True, timeout=60)
        left = [os.path.join(d, f) for d, _, names in os.walk(root) for f in names]
        errors += ["make uninstall: leaves %s" % f[len(root):] for f in left]
    return errors


CHECKS = [
    ("first-commands", first_commands),
    ("warnings-fatal", warnings_fatal),
    ("runtime-libraries", runtime_libraries),
    ("debian-packages", debian_packages),
    ("manual-pages", manual_pages),
]
