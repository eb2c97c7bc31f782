"""Bad input: one clear line with the error, its place and a remedy; exit code 2; nothing is started
or left behind."""

import os
import socket

import pytest


@pytest.fixture
def refused(robustrun):
    def run(*arguments, **options):
        finished = robustrun.run(*arguments, **options)
        assert finished.code == 2, finished.errors
        assert not (robustrun.folder / "robustrun-runs").exists(), "nothing was made"
        return finished.errors

    return run


def test_missing_script(refused):
    error = refused("trian.py")
    assert "trian.py" in error and "no such file" in error.lower()


def test_a_folder_is_not_a_script(robustrun, refused):
    (robustrun.folder / "empty").mkdir()
    assert "empty" in refused("empty")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--nproc-per-node=banana", "t.py"], ["nproc-per-node", "banana"]),
        (["--nproc-per-node=0", "t.py"], ["nproc-per-node", "0"]),
        (["--nproc-per-node=gpu", "t.py"], ["Cuda is not available"]),
        (["--nnodes=two", "t.py"], ["nnodes", "two"]),
        (["--nnodes=3:2", "t.py"], ["nnodes", "3:2"]),
        (["--nprc-per-node=2", "t.py"], ["--nprc-per-node", "--nproc-per-node"]),
        (["--max-restarts=few", "t.py"], ["max-restarts", "few"]),
        (["--redirects=7", "t.py"], ["redirects", "7"]),
        (["--no-python", "-m", "t"], ["--no-python", "--module"]),
        (["--shutdown-timeout=-1", "t.py"], ["shutdown-timeout"]),
        (["--rdzv-backend=etcd", "t.py"], ["etcd"]),
        (["--restart-window=soon", "t.py"], ["restart-window", "soon"]),
        ([], ["SCRIPT"]),
    ],
)
def test_options(robustrun, refused, arguments, words):
    robustrun.write("t.py", "")
    error = refused(*arguments)
    for word in words:
        assert word in error


def test_a_bad_pet_variable_is_named(robustrun, refused):
    robustrun.write("t.py", "")
    error = refused("t.py", env={"PET_STANDALONE": "true"})
    assert "PET_STANDALONE" in error and "true" in error


@pytest.mark.parametrize(
    "text, words",
    [
        ("nproc-per-node = \n", ["job.toml:1"]),
        ("\nnproc-per-nod = 2\n", ["job.toml:2", "nproc-per-nod", "nproc_per_node"]),
        ("max-restarts = 'x'\n", ["job.toml:1", "max-restarts"]),
        ("max-restarts = -1\n", ["job.toml:1", "max-restarts"]),
    ],
)
def test_toml_errors_name_file_line_and_key(robustrun, refused, text, words):
    robustrun.write("t.py", "")
    robustrun.write("job.toml", text)
    error = refused("-c", "job.toml", "t.py")
    for word in words:
        assert word in error


def test_a_missing_config_file(robustrun, refused):
    robustrun.write("t.py", "")
    assert "none.toml" in refused("-c", "none.toml", "t.py")


def test_a_port_in_use_names_its_holder(robustrun, refused):
    robustrun.write("t.py", "")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        error = refused("--master-port", str(port), "t.py")
    assert str(port) in error and f"pid {os.getpid()}" in error


def test_an_unwritable_run_directory(robustrun):
    robustrun.write("t.py", "")
    (robustrun.folder / "file").write_text("")
    finished = robustrun.run("--run-dir", "file/run", "t.py")
    assert finished.code == 2 and "file/run" in finished.errors


def test_report_of_no_run(robustrun):
    finished = robustrun.run("report", "nowhere")
    assert finished.code == 2 and "nowhere" in finished.errors
    assert robustrun.run("report").code == 2


@pytest.mark.parametrize("words, why", [
    (["--hosts", "127.0.0.1"], "it compares machines, and this one alone is named"),
    ([], "no machines are named; add --hosts=LIST or --hostfile=FILE"),
], ids=["one", "none"])
def test_a_replay_on_one_machine_is_refused(robustrun, refused, words, why):
    robustrun.write("t.py", "")
    assert refused("replay", *words, "t.py") == f"robustrun: cannot replay: {why}\n"


def test_a_socket_is_not_a_script(robustrun, refused):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(robustrun.folder / "t.py"))
        assert "t.py: it is a socket, which Python cannot read" in refused("t.py")
