"""load_latest() where a disk gives EIO: parity, else the checkpoint before, and by name."""

import contextlib
import subprocess
import warnings

import pytest
from checkpoint.plain_process import plain_process, start_again, torch  # noqa: F401
from helpers.fuse import await_mount, need_fuse
from helpers.runner import BUILD
from robustrun import _engine, checkpoint

VIEW = BUILD / "test-helpers" / "slow_view"


@pytest.fixture
def places(tmp_path):
    return [tmp_path / "a", tmp_path / "b"]


@contextlib.contextmanager
def failing(place, broken):
    """`place` on a disk that gives EIO for what is read from paths with `broken` in them."""
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


def test_what_a_disk_does_not_give_is_named_and_the_one_before_is_taken(places):
    for step in (1, 2):
        assert checkpoint.save(eight_tensors(step), step, places).committed
    state = eight_tensors(0)
    with failing(places[1], "step-000000000002"):
        with pytest.warns(RuntimeWarning, match="tensor '.'.*Input/output error"):
            assert checkpoint.load_latest(state, places) == 1
        assert all(torch.equal(state[name], each) for name, each in eight_tensors(1).items())
        assert not _engine.catalogue(places)[0].poisoned
    with failing(places[1], ".safetensors"), pytest.warns(RuntimeWarning), pytest.raises(
            checkpoint.Unreadable, match="Input/output error"):
        checkpoint.load_latest(state, places)  # never as if there had been none
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checkpoint.load_latest(state, places) == 2
    assert all(torch.equal(state[name], each) for name, each in eight_tensors(2).items())


@pytest.mark.parametrize("bad", [0, 1])
def test_with_parity_a_disk_that_gives_nothing_costs_nothing(places, tmp_path, bad):
    places.append(tmp_path / "c")
    assert checkpoint.save(eight_tensors(1), 1, places, parity=1).committed
    state = eight_tensors(0)
    with failing(places[bad], ""), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checkpoint.load_latest(state, places) == 1
    assert all(torch.equal(state[name], each) for name, each in eight_tensors(1).items())
