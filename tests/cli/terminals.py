"""Pseudo-terminals for the tests. A bare root or a sandbox may give none: then a test is skipped with the reason."""

import os
import pty
import shutil
import unittest


def given(ask):
    """What pty.openpty or pty.fork gives."""
    try:
        return ask()
    except OSError as error:
        raise unittest.SkipTest(f"this system gives no pseudo-terminal ({error})") from error


def why_no_tmux() -> str:
    if shutil.which("tmux") is None:
        return "no tmux here"
    try:
        for end in given(pty.openpty):
            os.close(end)
    except unittest.SkipTest as skip:
        return str(skip)
    return ""


NO_TMUX = why_no_tmux()
needs_tmux = unittest.skipIf(NO_TMUX, NO_TMUX)
