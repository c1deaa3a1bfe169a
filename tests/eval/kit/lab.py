# SPDX-License-Identifier: Apache-2.0
"""A lab: one scratch directory with the processes and cgroups of one run.

Everything a run starts belongs to its lab and is stopped by pid when the lab
closes, also on Ctrl-C, on a signal and at exit.  The harness makes itself the
reaper of orphans, so a server's grandchildren are found and stopped too.

    Lab(), spawn/cgroup/..., close()
"""
import atexit
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time

from . import host

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
STOP_WAIT_S = 6.0
MEMORY, MEMORY_NEED = '/dev/shm', 4 << 30

_libc = ctypes.CDLL(None, use_errno=True)
_open_labs = []
base_nice = 0	# of all that is started; set once, before the first lab


class LabError(Exception):
    """The harness could not do its part; never a wrong verdict."""


class LabMissing(LabError):
    """A program that the test needs is not installed."""


def become_reaper():
    """Call once, before the first lab: orphans and signals come to us."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _catch_signals()
    atexit.register(_close_all)


def _catch_signals():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for sig in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, _raise_exit)


def _raise_exit(signum, _frame):
    raise SystemExit(128 + signum)


def _close_all():
    for lab in list(_open_labs):
        lab.close()


class Proc:
    """One started process; `log` is the file with what it printed."""

    def __init__(self, popen, argv, log, stop_signal):
        self.popen = popen
        self.pid = popen.pid
        self.name = os.path.basename(argv[0])
        self.log = log
        self.stop_signal = stop_signal

    def alive(self):
        return self.popen.poll() is None

    def text(self):
        with open(self.log, errors='replace') as f:
            return f.read()

    def stop(self, wait_s=STOP_WAIT_S):
        """Ask, wait, then kill what is left of its process group."""
        if self.alive():
            _kill(self.pid, self.stop_signal)
            try:
                self.popen.wait(wait_s)
            except subprocess.TimeoutExpired:
                pass
        _killpg(self.pid, signal.SIGKILL)
        if self.alive():
            self.popen.wait()


class Lab:
    def __init__(self, label, in_memory=False):
        """in_memory: where that has room, so that a disk's scatter is not in what is measured."""
        base = '/var/tmp' if os.path.isdir('/var/tmp') else None
        if in_memory and host.has_room(MEMORY, MEMORY_NEED):
            base = MEMORY
        self.dir = tempfile.mkdtemp(prefix='heldup-%s-' % label, dir=base)
        os.chmod(self.dir, 0o755)
        self.procs = []
        self.cgroups = []
        _open_labs.append(self)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, text, mode=0o644):
        full = self.path(name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'w') as f:
            f.write(text)
        os.chmod(full, mode)
        return full

    def spawn(self, argv, user=None, cpu=None, cgroup=None, env=None,
              stop=signal.SIGTERM, stdin=None, nice=0):
        """Start argv in a session of its own; output goes to a log file."""
        argv = [str(a) for a in argv]
        exe = shutil.which(argv[0], path=host.PATH)
        if not exe:
            raise LabMissing('%s is not installed (run tools/deps eval)' % argv[0])
        log = self.path('%02d-%s.log' % (len(self.procs), os.path.basename(exe)))
        full = [exe] + argv[1:]
        if user:
            full = ['setpriv', '--reuid', user, '--regid', user, '--clear-groups',
                    '--pdeathsig', 'KILL', '--'] + full
        merged = dict(os.environ, PATH=host.PATH, LC_ALL='C.UTF-8', HOME=self.dir)
        merged.update(env or {})

        def before_exec():
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if cgroup:
                cgroup.enter()
            if cpu is not None:
                os.sched_setaffinity(0, {cpu})
            if nice or base_nice:
                host.be_nice(nice + base_nice)

        with open(log, 'w') as out:
            popen = subprocess.Popen(full, stdout=out, stderr=subprocess.STDOUT,
                                     stdin=stdin or subprocess.DEVNULL, cwd=self.dir,
                                     env=merged, start_new_session=True,
                                     preexec_fn=before_exec)
        proc = Proc(popen, [exe], log, stop)
        self.procs.append(proc)
        return proc

    def call(self, argv, user=None, timeout=120, stdin_text=None):
        """Run to the end and return its output; LabError if it fails."""
        argv = [str(a) for a in argv]
        if user:
            argv = ['setpriv', '--reuid', user, '--regid', user, '--clear-groups',
                    '--'] + argv
        env = dict(os.environ, PATH=host.PATH, LC_ALL='C.UTF-8', HOME=self.dir)
        try:
            done = subprocess.run(argv, input=stdin_text, capture_output=True, text=True,
                                  cwd=self.dir, env=env, timeout=timeout)
        except FileNotFoundError:
            raise LabMissing('%s is not installed (run tools/deps eval)' % argv[0])
        except subprocess.TimeoutExpired:
            raise LabError('%s did not end in %d s' % (argv[0], timeout))
        if done.returncode:
            raise LabError('%s failed: %s' % (' '.join(argv[:4]), _tail(done)))
        return done.stdout

    def cgroup(self, controller, **limits):
        cg = host.Cgroup(controller, limits)
        self.cgroups.append(cg)
        return cg

    def wait_port(self, proc, port, timeout=40):
        self.wait_for(proc, lambda: host.port_open(port), 'port %d' % port, timeout)

    def wait_for(self, proc, ready, what, timeout=40):
        end = time.monotonic() + timeout
        while not ready():
            if not proc.alive():
                raise LabError('%s ended before %s: %s' % (proc.name, what,
                                                           proc.text()[-400:]))
            if time.monotonic() > end:
                raise LabError('%s: no %s after %d s' % (proc.name, what, timeout))
            time.sleep(0.05)

    def close(self):
        """Stop all, newest first; remove cgroups and the directory."""
        if self not in _open_labs:
            return
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(sig, signal.SIG_IGN)	# a second Ctrl-C must not leave servers
        try:
            self._stop_all()
        finally:
            _catch_signals()

    def _stop_all(self):
        _open_labs.remove(self)
        for proc in reversed(self.procs):
            proc.stop()
        _kill_strays()
        for cg in self.cgroups:
            cg.remove()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()


def _tail(done):
    return (done.stderr or done.stdout or '').strip()[-400:]


def _kill(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


def _killpg(pid, sig):
    try:
        os.killpg(pid, sig)
    except (ProcessLookupError, PermissionError):
        pass


def _kill_strays():
    """Kill what is still below us (servers that made sessions of their own)."""
    for _ in range(40):
        pids = host.descendants(os.getpid())
        if not pids:
            return
        for pid in pids:
            _kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        time.sleep(0.05)
