"""A terminal that tests type into and look at: a tmux server of the test's own."""

import shutil
import subprocess

import pytest
from helpers.processes import wait_for


class Terminal:
    """A shell in a terminal of `columns` x `rows`; the runner ends what is left of it."""

    def __init__(self, runner, columns=80, rows=24, env=None):
        program = shutil.which("tmux")
        if program is None:
            pytest.skip("no tmux; on Debian: apt-get install tmux")
        self._tmux = [program, "-S", str(runner.folder / f"tmux{len(runner.started)}"), "-f",
                      "/dev/null"]
        self._environment = {"LANG": "C.UTF-8", **runner.environment, "SHELL": "/bin/sh",
                             "PS1": "$ ", "ENV": "", **(env or {})}
        for name in ("LC_ALL", "TMUX"):
            self._environment.pop(name, None)
        self._do("-u", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c",
                 str(runner.folder), "/bin/sh")
        self._do("set-option", "-g", "status", "off")
        self.resize(columns, rows)

    def _do(self, *words):
        done = subprocess.run([*self._tmux, *words], env=self._environment, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def press(self, *keys):
        """tmux's names of keys: "Up", "Enter", "C-c"; other words are typed."""
        self._do("send-keys", *keys)

    def type(self, text):
        self._do("send-keys", "-l", "--", text)
        self.press("Enter")

    def resize(self, columns, rows):
        self._do("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self, colours=False):
        """What is on it, one line each."""
        return self._do("capture-pane", "-p", *(["-e"] if colours else []))

    def is_alternate(self):
        return self._do("display-message", "-p", "#{alternate_on}").strip() == "1"

    def wait(self, *texts, within_s=60):
        """Waits until all of these are on the screen; returns it."""
        def look():
            screen = self.screen()
            return all(text in screen for text in texts) and screen

        try:
            return wait_for(look, within_s, f"{texts} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}; it shows\n{self.screen()}") from error

    def close(self):
        subprocess.run([*self._tmux, "kill-server"], env=self._environment, capture_output=True)
