"""save() and load_latest() when one directory hangs, is dead, or cannot be made."""

import contextlib
import signal
import subprocess
import threading
import warnings

import pytest
from checkpoint.plain_process import plain_process, start_again, torch  # noqa: F401
from helpers.fuse import await_mount, need_fuse
from robustrun import checkpoint

PATIENCE_S = 4  # a busy disk may take a second to sync


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setenv("ROBUSTRUN_CHECKPOINT_PATIENCE", str(PATIENCE_S))


@pytest.fixture
def view(tmp_path):
    """A private mount, (path, server), whose files lie in tmp_path / "behind"."""
    need_fuse("bindfs")
    behind, path = tmp_path / "behind", tmp_path / "view"
    behind.mkdir()
    path.mkdir()
    server = subprocess.Popen(["bindfs", "-f", behind, path])
    try:
        await_mount(server, path)
        yield path, server
    finally:
        server.kill()  # processes that wait for it get an error
        server.wait(60)
        subprocess.run(["umount", "--lazy", path], check=True)


def state_of(value):
    return {name: torch.full((1 << 18,), float(value)) for name in "abcdefgh"}


def is_state_of(state, value):
    return all(torch.equal(state[name], each) for name, each in state_of(value).items())


def told(call, *arguments, **options):
    """The result of the call and its warnings, in time."""
    answers, caught = [], []

    def run():
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                answers.append(call(*arguments, **options))
            finally:
                caught.extend(str(each.message) for each in warned)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive(), "it hangs"
    return answers[0], caught


@contextlib.contextmanager
def hanging(server):
    server.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.send_signal(signal.SIGCONT)


def names(warned, place):
    return any(str(place) in each for each in warned)


def test_a_hung_directory_takes_no_longer_than_the_time_limit(tmp_path, view):
    path, server = view
    places = [tmp_path / "a", path / "below"]
    with hanging(server):
        saved, warned = told(checkpoint.save, state_of(1), 1, places)
        assert saved.committed and names(warned, places[1]) and "answer" in " ".join(warned)
        start_again()
        state = state_of(0)
        assert told(checkpoint.load_latest, state, places)[0] == 1
        assert is_state_of(state, 1)


def test_a_hung_home_is_an_error_that_names_it(view):
    path, server = view
    with hanging(server):
        errors = []

        def save():
            try:
                checkpoint.save(state_of(1), 1, path / "below")
            except OSError as error:
                errors.append(error)

        told(save)
    assert str(path / "below") in str(errors[0]) and "no answer" in str(errors[0])


@pytest.mark.parametrize("below", ["", "below"])
@pytest.mark.parametrize("parity", [0, 1])
def test_a_dead_mount_does_not_block_a_restart(tmp_path, view, parity, below):
    path, server = view
    places = [tmp_path / "a", tmp_path / "b", path / below]
    saved, warned = told(checkpoint.save, state_of(1), 1, places[:2 + parity], parity=parity)
    assert saved.committed and not warned
    start_again()
    server.kill()
    server.wait(60)
    state = state_of(0)
    assert told(checkpoint.load_latest, state, places)[0] == 1
    assert is_state_of(state, 1)
    saved, warned = told(checkpoint.save, state_of(2), 2, places, parity=parity)
    assert saved.committed and names(warned, places[2]) and "not connected" in " ".join(warned)
    start_again()
    assert told(checkpoint.load_latest, state, places)[0] == 2
    assert is_state_of(state, 2)


def test_a_missing_mount_is_tolerated_except_for_the_home(tmp_path):
    places = [tmp_path / "a", tmp_path / "mount" / "b"]
    saved, warned = told(checkpoint.save, state_of(1), 1, places)
    assert saved.committed and names(warned, places[1]) and "No such file" in " ".join(warned)
    for call in (checkpoint.save, checkpoint.load_latest):
        arguments = (state_of(1), 2) if call is checkpoint.save else (state_of(1),)
        with pytest.raises(FileNotFoundError, match="mount/b"):
            call(*arguments, directories=places[::-1])
