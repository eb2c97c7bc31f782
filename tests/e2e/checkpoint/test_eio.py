"""load_latest() with EIO from a disk: parity or the previous checkpoint, and a named file."""

import contextlib
import subprocess
import warnings

import pytest
from checkpoint.plain_process import plain_process, start_again, torch  # noqa: F401
from helpers.fuse import await_mount, need_fuse
from helpers.runner import BUILD
from robustrun import checkpoint
from robustrun._checkpoint import c_api

VIEW = BUILD / "test-helpers" / "slow_view"


@pytest.fixture
def places(tmp_path):
    return [tmp_path / "a", tmp_path / "b"]


@contextlib.contextmanager
def failing(place, broken):
    """`place` on a disk that returns EIO for reads of paths that contain `broken`."""
    need_fuse(VIEW)
    start_again()
    behind = place.with_name(place.name + "-behind")
    place.rename(behind)
    place.mkdir()
    view = subprocess.Popen([VIEW, behind, place, "0", "/dev/null", broken])
    try:
        await_mount(view, place)
        yield
    finally:
        start_again()
        if view.poll() is None:
            subprocess.run(["umount", "--lazy", place], check=True)
            view.wait(60)
        place.rmdir()
        behind.rename(place)


def eight_tensors(value):
    return {name: torch.full((1 << 18,), float(value)) for name in "abcdefgh"}


def test_a_read_error_is_named_and_the_previous_checkpoint_is_taken(places):
    for step in (1, 2):
        assert checkpoint.save(eight_tensors(step), step, places).committed
    state = eight_tensors(0)
    with failing(places[1], "step-000000000002"):
        with pytest.warns(RuntimeWarning, match="tensor '.'.*Input/output error"):
            assert checkpoint.load_latest(state, places) == 1
        assert all(torch.equal(state[name], each) for name, each in eight_tensors(1).items())
        assert not c_api.catalogue(places)[0].poisoned
    with failing(places[1], ".safetensors"), pytest.warns(RuntimeWarning), pytest.raises(
            checkpoint.Unreadable, match="Input/output error"):
        checkpoint.load_latest(state, places)  # never a start without a checkpoint
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checkpoint.load_latest(state, places) == 2
    assert all(torch.equal(state[name], each) for name, each in eight_tensors(2).items())


@pytest.mark.parametrize("bad", [0, 1])
def test_with_parity_an_unreadable_disk_loses_nothing(places, tmp_path, bad):
    places.append(tmp_path / "c")
    assert checkpoint.save(eight_tensors(1), 1, places, parity=1).committed
    state = eight_tensors(0)
    with failing(places[bad], ""), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checkpoint.load_latest(state, places) == 1
    assert all(torch.equal(state[name], each) for name, each in eight_tensors(1).items())
