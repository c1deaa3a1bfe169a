# SPDX-License-Identifier: Apache-2.0
"""What tests that need servers say where one is not installed."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys

from heldup_cli import TOP


def load_program(path):
    """A program of tests/ that has no .py at its end, as a module."""
    loader = importlib.machinery.SourceFileLoader("program", os.path.join(TOP, path))
    spec = importlib.util.spec_from_loader("program", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class Everywhere:
    """shutil, where every program is found."""

    @staticmethod
    def which(name, **_):
        return "/bin/true"


def test_java_without_tomcat_is_skipped():
    program = load_program("tests/bpf/t_unwind")
    program.shutil = Everywhere
    program.servers.TOMCAT = "/nonexistent"
    said, argv = io.StringIO(), sys.argv
    try:
        sys.argv = ["t_unwind", "java"]
        with contextlib.redirect_stdout(said):
            program.main()
    except SystemExit as e:
        assert not e.code, said.getvalue()
    finally:
        sys.argv = argv
    assert said.getvalue().startswith("skip unwind-java: tomcat10 is not installed"), said.getvalue()
