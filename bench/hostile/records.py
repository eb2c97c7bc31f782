"""Journals, manifests and other records of checkpoints, changed and with right checksums, so that
what they say is believed until it is used."""

import os

from hostile.base_runs import PlayerOfRuns
from hostile.encoding import changed_document, changed_journal, changed_line
from hostile.place import GREEDY, dice, fenced, is_greedy, user_of

COUNT = 400
SIM = ("--nodes=4", "--seeds=1", "--days=1", "--compare=none")
JOURNAL_COMMANDS = (
    ("report",), ("report",), ("report", "-v"), ("report", "--json"), ("report", "--json"),
    ("report", "--html", "page.html"), ("report", "--trace", "trace.json"), ("status",),
    ("status", "--json"), ("ls",), ("logs",), ("stop",), ("attach",), ("diagnose",),
    ("update", "--list"), ("rm",), ("nodes", "--run"), ("sim", *SIM, "--from-journal"),
    ("sim", "--replay"), ("resume",), ("resume",), ("resume",))
WITHOUT_RUN = ("ls",)
CKPT_COMMANDS = (("ls",), ("ls", "--json"), ("inspect",), ("inspect", "--json"), ("verify",),
                 ("verify", "--all"), ("repair",), ("repair", "--all"), ("prune", "--keep=1"),
                 ("pin", "--step=2"))
LINES = ("FENCE", "LATEST", "VERIFIED", "POISONED", "DRAINED")


class Player(PlayerOfRuns):
    def play(self, seed):
        self.restore()  # the input before may have failed halfway
        draw = dice("records", seed)
        text, words = self.journal(draw) if draw.random() < 0.6 else self.checkpoint(draw)
        uid = user_of(seed)
        self.place.give_to(uid)
        ended = self.place.run(*words, prefix=fenced(uid))
        return self.place.line(text, ended, wanted=GREEDY if is_greedy(ended) else "",
                               before_next=self.restore)

    def restore(self):
        self.place.restore()
        self.place.give_to(os.getuid())

    def journal(self, draw):
        run = draw.choice(("done", "cut"))
        path = self.place.runs / run / "journal"
        bytes_of_it, how = changed_journal(path.read_bytes(), draw)
        path.write_bytes(bytes_of_it)
        command = draw.choice(JOURNAL_COMMANDS)
        words = command if command[0] in WITHOUT_RUN else (*command, path.parent)
        return f"{' '.join(command)} of the run {run}: {how}", words

    def checkpoint(self, draw):
        path = self.place.folder / draw.choice(self.records())
        change = changed_line if path.name in LINES else changed_document
        bytes_of_it, how = change(path.read_bytes(), draw)
        # The copies are changed, too, or the sound one is taken.
        changed = [path]
        if draw.random() < 0.7:
            changed = [self.place.folder / other for other in self.records()
                       if other.parts[1:] == path.relative_to(self.place.folder).parts[1:]]
        for each in changed:
            each.write_bytes(bytes_of_it)
        command = draw.choice(CKPT_COMMANDS)
        text = f"ckpt {' '.join(command)}, {path.name} in {len(changed)} folders: {how}"
        name, *options = command
        return text, ("ckpt", name, self.place.folder / "a", self.place.folder / "b", *options)

    def records(self):
        return [path for path in self.place.files("a", "b")
                if path.name in (*LINES, "MANIFEST", "INTENT") or path.suffix == ".rrp"]
