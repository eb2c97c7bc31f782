"""Batches of loader processes lie in memory files: the same bytes, nothing in /dev/shm, and no
descriptor is left over. What torch does otherwise is left to it."""

import os
import sys

import pytest
from conftest import PACKAGE

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
from torch import multiprocessing  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402

sys.path.insert(0, str(PACKAGE))
from robustrun import data  # noqa: E402


def loader(dataset, workers, **options):
    return data.DataLoader(dataset, 4, num_workers=workers, rank=0, ranks=1, **options)


def lies_in(tensor):
    """The file that is mapped where a tensor's bytes are; "" for ordinary memory."""
    at = tensor.untyped_storage().data_ptr()
    with open("/proc/self/maps") as file:
        for line in file:
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if begin <= at < end:
                return "".join(line.split(maxsplit=5)[5:])
    return ""


class Many(Dataset):
    """Samples of many kinds."""

    def __len__(self):
        return 16

    def __getitem__(self, index):
        drawn = torch.rand(3, 5)
        return {"float": drawn, "half": drawn.bfloat16(), "bool": drawn > 0.5,
                "complex": torch.complex(drawn, drawn), "array": drawn.numpy().astype("int16"),
                "number": index, "real": float(drawn[0, 0]), "text": str(index),
                "empty": torch.empty(0, 3), "scalar": drawn.sum(), "list": [drawn[0], drawn.T],
                "large": torch.full((70_000,), index)}


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value
    return [one for each in values for one in tensors_in(each)] \
        if isinstance(value, (dict, list, tuple)) else []


def uncommon(read):
    """What a collate_fn of one's own may return."""
    whole = torch.stack([each["float"] for each in read])
    return {"views": [whole[:, :2], whole[1:].transpose(1, 2), whole[0, 0, 0]],
            "sparse": whole.round().to_sparse(), "gradient": whole.clone().requires_grad_(),
            "parameter": torch.nn.Parameter(whole + 1), "array": whole.numpy(),
            "typed": (whole * 3).reshape(-1).storage(), "text": [each["text"] for each in read],
            "none": None, "read": read}


def shown(value):
    """All of a batch, as values that can be compared."""
    if isinstance(value, dict):
        return {key: shown(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    if isinstance(value, torch.Tensor):
        plain = value.detach().to_dense() if value.is_sparse else value.detach()
        return (type(value), value.dtype, value.shape, value.requires_grad,
                plain.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
                if plain.numel() else b"")
    if isinstance(value, numpy.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return list(value) if isinstance(value, torch.TypedStorage) else value


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("options", [
    {}, {"collate_fn": uncommon}, {"persistent_workers": True, "prefetch_factor": 1},
    {"multiprocessing_context": "spawn", "collate_fn": uncommon}], ids=str)
def test_batches_are_those_of_a_loader_without_processes(options):
    before = set(os.listdir("/dev/shm"))
    alone = loader(Many(), 0, collate_fn=options.get("collate_fn"))
    quiet = [shown(batch) for _ in range(2) for batch in alone]
    one = loader(Many(), 1 if "multiprocessing_context" in options else 2, **options)
    batches = [batch for _ in range(2) for batch in one]
    assert [shown(batch) for batch in batches] == quiet
    for batch in batches:
        for tensor in tensors_in({key: each for key, each in batch.items() if key != "sparse"}):
            assert tensor.numel() == 0 or lies_in(tensor).startswith("/memfd:robustrun-batch")
    if "collate_fn" in options:
        first, second, third = batches[0]["views"]
        assert len({view.untyped_storage().data_ptr() for view in (first, second, third)}) == 1
        first.zero_()
        assert third.item() == 0  # still one memory
    del one
    # Those of spawn have semaphores there.
    assert {name for name in os.listdir("/dev/shm") if name.startswith("torch_")} <= before


class Counting(Dataset):
    def __len__(self):
        return 8000

    def __getitem__(self, index):
        return torch.full((500,), index), len(os.listdir("/proc/self/fd"))


def test_no_descriptor_is_left_over():
    here, there = [], []
    for number, (values, counts) in enumerate(loader(Counting(), 2)):
        assert values[:, 0].tolist() == [4 * number + i for i in range(4)]
        here.append(len(os.listdir("/proc/self/fd")))
        there.append(int(counts.max()))
    assert max(here[-50:]) <= max(here[:50]) + 4
    assert max(there[-50:]) <= max(there[:50]) + 4


class Kept(Dataset):
    """A tensor of which each sample is a part."""

    def __init__(self, size):
        self.all = torch.arange(size)

    def __len__(self):
        return 32

    def __getitem__(self, index):
        return self.all[1000 * index:1000 * index + 10]


def first(read):
    return read[0], read[0][:5]


def batches_of_kept(size):
    batches = list(loader(Kept(size), 1, collate_fn=first))
    assert [batch[0].tolist() for batch in batches] == [
        [4000 * number + i for i in range(10)] for number in range(8)]
    return batches


def test_large_memory_that_the_dataset_keeps_is_shared_with_it_as_with_torch():
    batches = batches_of_kept(2_500_000)
    assert lies_in(batches[0][0]).startswith("/memfd:robustrun-batch")
    later = {batch[0].untyped_storage().data_ptr() for batch in batches[1:]}
    assert len(later) == 1 and lies_in(batches[1][0]).startswith("/dev/shm/torch_")


@pytest.mark.parametrize("size", [40_000, 2_500_000])
def test_it_is_copied_where_it_is_small_or_has_no_room(size, monkeypatch):
    full = os.statvfs_result((4096, 4096, 16, 10, 10, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    for batch in batches_of_kept(size):
        assert all(lies_in(part).startswith("/memfd:robustrun-batch") for part in batch)


class Plain(Many):
    def __getitem__(self, index):
        return torch.full((500,), index)


def are_of_torch(**options):
    batches = list(loader(Plain(), 1, **options))
    assert [int(batch[0, 0]) for batch in batches] == [0, 4, 8, 12]
    return all(lies_in(batch).startswith("/dev/shm/torch_") for batch in batches)


def test_the_sharing_strategy_of_files_is_left_to_torch():
    before = multiprocessing.get_sharing_strategy()
    multiprocessing.set_sharing_strategy("file_system")
    try:
        assert are_of_torch()
    finally:
        multiprocessing.set_sharing_strategy(before)


def refuse(*_):
    raise OSError(38, "Function not implemented")


def test_where_there_are_no_memory_files_torch_does_as_ever(monkeypatch):
    assert not are_of_torch()
    monkeypatch.setattr(os, "memfd_create", refuse)
    assert are_of_torch()


def test_a_python_without_memfd_create_asks_the_system(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    assert not are_of_torch()


def test_nor_is_a_torch_changed_that_has_other_functions(monkeypatch):
    from torch.multiprocessing import reductions

    monkeypatch.setattr(reductions, "reduce_storage", lambda storage: None)
    assert are_of_torch()


def test_a_full_memory_is_left_to_torch(monkeypatch):
    """Descriptors may run out later, too."""
    def begin(_):
        monkeypatch.setattr(os, "memfd_create", refuse)

    assert are_of_torch(worker_init_fn=begin)
