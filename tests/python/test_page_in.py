"""Pages for the tensors that a load will fill (_checkpoint/page_in.py)."""

import ctypes
import mmap
import platform
import sys

import pytest
from conftest import PACKAGE

torch = pytest.importorskip("torch")
sys.path.insert(0, str(PACKAGE))
from robustrun._checkpoint import page_in  # noqa: E402

LINUX = tuple(int(each) for each in platform.release().split("-")[0].split(".")[:2])
BYTES = page_in.WORTH_IT + (4 << 20)


@pytest.fixture(autouse=True)
def in_a_restart(monkeypatch):
    monkeypatch.setenv("ROBUSTRUN_SOCKET", "/nowhere")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")


def resident(memory):
    """Bytes of this mapping that have pages of their own."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    with open("/proc/self/smaps") as file:
        inside = False
        for line in file:
            first = line.split("-")[0]
            if all(each in "0123456789abcdef" for each in first):
                low, high = (int(each, 16) for each in line.split()[0].split("-"))
                inside = low <= address < high
            elif inside and line.startswith("Private_Dirty:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("the mapping is not listed")


def tensor_without_pages():
    memory = mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return memory, torch.frombuffer(memory, dtype=torch.uint8)


@pytest.mark.skipif(LINUX < (5, 14), reason="MADV_POPULATE_WRITE needs Linux 5.14")
@pytest.mark.parametrize("wrap", [lambda tensor: {"model": {"weight": tensor}},
                                  lambda tensor: [1, "text", (tensor,)],
                                  lambda tensor: {"model": a_module(tensor)}])
def test_tensors_of_a_restart_get_their_pages_and_keep_their_values(wrap):
    memory, tensor = tensor_without_pages()
    tensor[5] = 7
    assert resident(memory) < 8 << 20  # huge pages may come
    page_in.begin(wrap(tensor)).join()
    assert resident(memory) >= BYTES
    assert tensor[5] == 7
    assert tensor.sum() == 7


def a_module(tensor):
    module = torch.nn.Module()
    module.register_buffer("weight", tensor)
    return module


def test_a_first_start_a_small_state_and_one_outside_robustrun_are_left_alone(monkeypatch):
    assert page_in.begin({"step": 3, "weight": torch.zeros(1000)}) is None
    memory, tensor = tensor_without_pages()
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    assert page_in.begin({"weight": tensor}) is None
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "2")
    monkeypatch.delenv("ROBUSTRUN_SOCKET")
    assert page_in.begin({"weight": tensor}) is None
    assert resident(memory) < 8 << 20  # huge pages may come


def test_a_state_that_cannot_be_looked_at_is_left_to_the_load():
    class Odd(torch.nn.Module):
        def parameters(self):
            raise RuntimeError("not now")

    _, tensor = tensor_without_pages()
    assert page_in.begin({"model": Odd(), "weight": tensor}) is None
    itself = {"weight": tensor}
    itself["again"] = itself
    assert page_in.begin(itself) is None


def test_state_dict_is_not_called():
    class Watched:
        def state_dict(self):
            raise AssertionError("called")

    _, tensor = tensor_without_pages()
    page_in.begin({"scheduler": Watched(), "weight": tensor}).join()
