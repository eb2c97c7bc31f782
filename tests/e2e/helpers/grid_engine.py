"""A private Grid Engine on the machines of a lab (machines.py): the master and an execution daemon
on h1, an execution daemon on each other machine, with all files in one folder, which the machines
share as a site's cells do. One slot and eight GPUs a host.

scripts/install-deps.sh unpacks Debian's programs into .gridengine and starts none of them.
"""

import contextlib
import os
import pathlib
import shlex
import subprocess
import time

import pytest
from helpers.processes import wait_for
from helpers.runner import BUILD, MARKER, ROOT

PROGRAMS = ROOT / ".gridengine/usr"
QMASTER_PORT, EXECD_PORT = "6444", "6445"
COMMAND_S = 60

BOOTSTRAP = """admin_user none
default_domain none
ignore_fqdn true
spooling_method classic
spooling_lib libspoolc
spooling_params {cell}/common;{folder}/master
binary_path {root}/bin
qmaster_spool_dir {folder}/master
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""

# `notify`: seconds from SIGUSR2 to SIGKILL, and from SIGUSR1 to SIGSTOP, in jobs with -notify.
QUEUE = """qname all.q
hostlist {hosts}
seq_no {order}
load_thresholds NONE
suspend_thresholds NONE
nsuspend 1
suspend_interval 00:05:00
priority 0
min_cpu_interval 00:05:00
processors UNDEFINED
qtype BATCH INTERACTIVE
ckpt_list NONE
pe_list mpi
rerun FALSE
slots 1
tmpdir {tmp}
shell /bin/bash
prolog NONE
epilog NONE
shell_start_mode unix_behavior
starter_method NONE
suspend_method NONE
resume_method NONE
terminate_method NONE
notify 00:00:{notify_s:02}
owner_list NONE
user_lists NONE
xuser_lists NONE
subordinate_list NONE
complex_values NONE
projects NONE
xprojects NONE
calendar NONE
initial_state default
""" + "".join(f"{kind}_{what} INFINITY\n" for what in (
    "rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem") for kind in ("s", "h"))

PARALLEL = """pe_name mpi
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule 1
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary TRUE
qsort_args NONE
"""


def need_grid_engine():
    if not (PROGRAMS / "lib/gridengine/sge_qmaster").exists():
        pytest.fail("no Grid Engine in .gridengine: scripts/install-deps.sh test installs it")


def changed(text, **values):
    """A configuration as qconf shows it, with these values."""
    lines = []
    for line in text.splitlines():
        name = line.split(None, 1)[0] if line.strip() else ""
        lines.append(f"{name} {values[name]}" if name in values else line)
    return "\n".join(lines) + "\n"


class GridEngine:
    def __init__(self, robustrun, lab, notify_s=20):
        need_grid_engine()
        self.robustrun, self.lab = robustrun, lab
        self.names = list(lab.machines)
        self.folder = lab.folder / "sge"
        self.root, self.cell = self.folder / "root", self.folder / "root/default"
        self.daemons = []
        self._lay_out()
        self._init_spool()
        self.daemon("h1", "sge_qmaster")
        wait_for(lambda: self.run("qconf", "-sconf", check=False).returncode == 0, what="qmaster")
        self.run("qconf", "-ah", ",".join(self.names))
        self.run("qconf", "-as", ",".join(self.names))
        for name in self.names:
            self.daemon(name, "sge_execd")
        wait_for(lambda: set(self.run("qconf", "-sel", check=False).stdout.split())
                 == set(self.names), what="the execution daemons")
        self._configure(notify_s)

    def _lay_out(self):
        (self.cell / "common").mkdir(parents=True)
        for name in ("master", "execd", *(f"tmp/{name}" for name in self.names)):
            (self.folder / name).mkdir(parents=True)
        share = PROGRAMS / "share/gridengine"
        (self.root / "util").symlink_to(share / "util")
        arch = subprocess.run([share / "util/arch"], capture_output=True, text=True).stdout.strip()
        for name in ("bin", "utilbin", "lib"):
            (self.root / name).mkdir()
            (self.root / name / arch).symlink_to(PROGRAMS / "lib/gridengine")
        self.programs = self.root / "bin" / arch
        (self.cell / "common/bootstrap").write_text(BOOTSTRAP.format(
            cell=self.cell, folder=self.folder, root=self.root))
        (self.cell / "common/act_qmaster").write_text("h1\n")
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(
            f"{self.lab[name].address} {name}\n" for name in self.names))
        for name in self.names:
            self.within(name, "mount", "--bind", hosts, "/etc/hosts")
            # Where Debian's programs look for their libraries.
            self.within(name, "mount", "-t", "overlay", "none", "-o",
                        f"lowerdir={PROGRAMS}/lib:/usr/lib", "/usr/lib")

    def _init_spool(self):
        share = PROGRAMS / "share/gridengine"
        conf = self.folder / "conf"
        conf.write_text(changed(
            (share / "default-configuration").read_text(), execd_spool_dir=self.folder / "execd",
            mailer="/bin/true", min_uid=0, min_gid=0, load_report_time="00:00:02",
            gid_range="65400-65500", finished_jobs=0,
            reporting_params="accounting=true reporting=false flush_time=00:00:01 joblog=false "
            "sharelog=00:00:00"))
        spool = f"{self.cell}/common;{self.folder}/master"
        self.run("spoolinit", "classic", "libspoolc", spool, "init")
        for words in (("configuration", conf), ("complexes", share / "util/resources/centry"),
                      ("usersets", share / "util/resources/usersets"), ("managers", "root")):
            self.run("/usr/lib/gridengine/spooldefaults", *words)

    def _configure(self, notify_s):
        # Everything at once.
        self.configure("-Msconf", changed(
            self.run("qconf", "-ssconf").stdout, schedule_interval="0:0:1", flush_submit_sec=1,
            flush_finish_sec=1, queue_sort_method="seqno"))
        self.configure("-Mc", self.run("qconf", "-sc").stdout
                       + "gpu gpu INT <= YES YES 0 0\n")
        for name in self.names:
            self.run("qconf", "-aattr", "exechost", "complex_values", "gpu=8", name)
        self.configure("-Ap", PARALLEL)

        def by_host(default, value):
            return ",".join([default, *(f"[{name}={value(name)}]" for name in self.names)])

        # Machines of a lab share /tmp, in which a host removes a job's folder after each task.
        self.configure("-Aq", QUEUE.format(
            hosts=" ".join(self.names), order=by_host("0", self.names.index), notify_s=notify_s,
            tmp=by_host("/tmp", lambda name: self.folder / "tmp" / name)))

    def environment(self):
        return {
            "SGE_ROOT": str(self.root), "SGE_CELL": "default", "SGE_SINGLE_LINE": "1",
            "SGE_QMASTER_PORT": QMASTER_PORT, "SGE_EXECD_PORT": EXECD_PORT,
            "PATH": f"{BUILD / 'bin'}:{self.programs}:{os.environ['PATH']}",
        }

    def prefix(self, name):
        """A command that runs what follows on this machine, in the folder of the test."""
        return ("nsenter", "-t", str(self.lab[name].init), "-n", "-m", "-u", "-p", "sh", "-c",
                f'cd {shlex.quote(str(self.robustrun.folder))} && exec "$@"', "sh")

    def within(self, name, *words, check=True, env=None):
        done = subprocess.run(
            [*self.prefix(name), *map(str, words)],
            env={**self.robustrun.environment, **(env or {})},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_S)
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def run(self, *words, check=True):
        """Runs qsub, qstat, … on h1."""
        return self.within("h1", *words, check=check, env=self.environment())

    def configure(self, option, text):
        """Gives qconf a file."""
        path = self.folder / "given"
        path.write_text(text)
        return self.run("qconf", option, path)

    def daemon(self, name, program):
        with open(self.folder / f"{name}.{program}.log", "ab") as log:
            self.daemons.append(subprocess.Popen(
                [*self.prefix(name), self.programs / program],
                env={**self.robustrun.environment, **self.environment(), "SGE_ND": "1"},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def logs(self):
        """The messages of all daemons, the jobs, and why they wait."""
        tails = [f"== {path}\n{path.read_text(errors='replace')[-3000:]}"
                 for path in [*self.folder.rglob("messages"), *self.folder.glob("*.log")]]
        for words in (("qstat", "-f"), ("qstat", "-j", "*")):
            with contextlib.suppress(subprocess.SubprocessError):
                tails.append(self.run(*words, check=False).stdout)
        return "\n".join(tails)

    # Jobs.

    def submit(self, script, *options):
        """Queues the text of a batch script; returns the job's number. The output goes to
        NUMBER.out."""
        path = self.robustrun.folder / f"batch{time.monotonic_ns()}.sh"
        path.write_text(script)
        environment = {**self.robustrun.environment, **self.environment()}
        kept = ("PATH", "SGE_QMASTER_PORT", "SGE_EXECD_PORT", "XDG_STATE_HOME",
                "XDG_CACHE_HOME", "PYTHON_EXEC", MARKER)
        passed = ",".join(f"{name}={environment[name]}" for name in kept)
        return int(self.run("qsub", "-terse", "-v", passed, "-o", "$JOB_ID.out", *options,
                            path).stdout)

    def output(self, job):
        path = self.robustrun.folder / f"{job}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def is_known(self, job):
        return self.run("qstat", "-j", job, check=False).returncode == 0

    def state(self, job):
        """"r", "qw", "dr", "Rq", …; empty: it has ended."""
        for line in self.run("qstat").stdout.splitlines():
            words = line.split()
            if words and words[0] == str(job):
                return words[4]
        return ""

    def wait(self, condition, job, what, within_s=90):
        try:
            return wait_for(condition, within_s, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.output(job)}\n{self.logs()}") from None

    def wait_end(self, job, within_s=90):
        self.wait(lambda: not self.is_known(job), job, f"the end of job {job}", within_s)

    def ends(self, job):
        """The ends of all starts of a job: (failed, exit_status), from the accounting file."""
        path = pathlib.Path(self.cell / "common/accounting")
        rows = [line.split(":") for line in path.read_text().splitlines()] if path.exists() else []
        return [(int(row[11]), int(row[12])) for row in rows
                if len(row) > 12 and row[5] == str(job)]

    def close(self):
        """The machines end their processes with themselves."""
        for process in self.daemons:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait(timeout=30)
