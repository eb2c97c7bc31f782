"""`robustrun ckpt export`: writes a checkpoint in formats that other programs read.

    python -m robustrun.export --to safetensors|dcp|torch [--step N] [--rank N] -- DIRECTORY... OUT

safetensors  a folder: model.safetensors, or several files of at most 4 GiB with an index in Hugging
             Face's format, and objects.json with all values that are not tensors. Needs memory for
             one tensor at a time.
dcp          a folder that torch.distributed.checkpoint loads, sharded as it was saved.
torch        one file for torch.load(weights_only=True). Needs memory for the whole state.

If each rank saved its own state, safetensors and torch make a folder with the files of each rank
(rank-N.safetensors and rank-N.objects.json, or rank-N.pt); --rank exports the state of one rank.

Every byte is verified. OUT appears only once it is complete and synced.
"""

import argparse
import base64
import contextlib
import ctypes
import inspect
import io
import json
import os
import shutil
import sys
import warnings
from dataclasses import replace

try:
    import torch
except ImportError:
    sys.exit("robustrun: cannot export a checkpoint: %s has no torch; activate the environment "
             "that has it, or name its interpreter in PYTHON_EXEC" % sys.executable)

from ._checkpoint import manifest

FILE_BYTES_MAX = 4 << 30  # of a safetensors file, unless a single tensor is larger
_SAFETENSORS = {"BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "I16", "U16", "F16", "BF16", "I32", "U32",
                "F32", "I64", "U64", "F64"}


def to_safetensors(contents, out):
    os.mkdir(out)
    _fill_safetensors(contents, out, "model", "objects.json")


def ranks_to_safetensors(checkpoint, ranks, out):
    os.mkdir(out)
    for rank in ranks:
        _fill_safetensors(manifest.Contents(checkpoint, rank), out, "rank-%d" % rank,
                          "rank-%d.objects.json" % rank)


def _fill_safetensors(contents, folder, stem, objects):
    contents.check_names()
    strange = [name for name, tensor in contents.tensors.items()
               if tensor.dtype_name not in _SAFETENSORS]
    if strange:
        raise ValueError("safetensors has no type %s, the type of '%s'; use --to torch or dcp"
                         % (contents.tensors[strange[0]].dtype_name, strange[0]))
    groups = _groups(contents.tensors)
    names = [stem + ".safetensors"] if len(groups) == 1 else [
        "%s-%05d-of-%05d.safetensors" % (stem, i + 1, len(groups)) for i in range(len(groups))]
    for name, group in zip(names, groups):
        _write_safetensors(os.path.join(folder, name), group)
    if len(groups) > 1:
        _write_json(os.path.join(folder, stem + ".safetensors.index.json"), {
            "metadata": {"total_size": sum(t.bytes for t in contents.tensors.values())},
            "weight_map": {t.name: name for name, group in zip(names, groups) for t in group}})
    if contents.objects:
        _write_json(os.path.join(folder, objects),
                    {name: _plain(value) for name, value in sorted(contents.objects.items())})


def _groups(tensors):
    """The tensors of each file."""
    groups, size = [[]], 0
    for name in sorted(tensors):
        if groups[-1] and size + tensors[name].bytes > FILE_BYTES_MAX:
            groups.append([])
            size = 0
        groups[-1].append(tensors[name])
        size += tensors[name].bytes
    return groups


def _write_safetensors(path, tensors):
    tensors = sorted(tensors, key=lambda tensor: (-tensor.dtype.itemsize, tensor.name))  # aligned
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for tensor in tensors:
        header[tensor.name] = {"dtype": tensor.dtype_name, "shape": list(tensor.shape),
                               "data_offsets": [at, at + tensor.bytes]}
        at += tensor.bytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with _new_file(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors:
            whole = tensor.read()
            file.write((ctypes.c_char * tensor.bytes).from_address(whole.data_ptr())
                       if tensor.bytes else b"")


def _plain(value):
    """`value` for JSON: tuples become lists, bytes {"base64": …}, types their names, keys texts."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _plain(each)
                for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def to_torch(contents, out):
    with _new_file(out) as file:
        torch.save(contents.nested(), file)


def ranks_to_torch(checkpoint, ranks, out):
    os.mkdir(out)
    for rank in ranks:
        to_torch(manifest.Contents(checkpoint, rank), os.path.join(out, "rank-%d.pt" % rank))


def ranks_to_dcp(checkpoint, ranks, out):
    raise ValueError("each of %d ranks saved its own state in step %d, but DCP has only one tensor "
                     "per name; use --to torch or safetensors, or --rank N for one rank's state"
                     % (len(ranks), checkpoint.step))


def to_dcp(contents, out):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.api import CheckpointException

    contents.check_names()
    planner = _planner(contents)
    writer, failed = dcp.FileSystemWriter(out), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about saving with a single process
        save = dcp.save if hasattr(dcp, "save") else dcp.save_state_dict  # torch 2.1
        alone = {"no_dist": True} if "no_dist" in inspect.signature(save).parameters else {}
        try:
            save({}, storage_writer=writer, planner=planner, **alone)
        except CheckpointException as error:  # a BaseException
            failed = next(iter(error.failures.values()))[0]
    if failed is not None:
        raise failed  # with its own context


def _planner(contents):
    """A DCP planner for the items of `contents`; each is read when it is written."""
    from torch.distributed.checkpoint import default_planner, metadata, planner

    class Planner(planner.SavePlanner):
        def set_up_planner(self, state_dict, storage_meta=None, is_coordinator=False):
            pass

        def create_local_plan(self):
            items = [planner.WriteItem(index=metadata.MetadataIndex(name),
                                       type=planner.WriteItemType.BYTE_IO)
                     for name in contents.objects]
            for tensor in contents.tensors.values():
                for shard in tensor.shards:
                    offsets, sizes = torch.Size(shard.offsets), torch.Size(shard.shape)
                    items.append(planner.WriteItem(
                        index=metadata.MetadataIndex(tensor.name, offsets),
                        type=planner.WriteItemType.SHARD,
                        tensor_data=planner.TensorWriteData(
                            chunk=metadata.ChunkStorageMetadata(offsets, sizes),
                            properties=metadata.TensorProperties(dtype=tensor.dtype),
                            size=torch.Size(tensor.shape))))
            return planner.SavePlan(items)

        def create_global_plan(self, all_plans):
            plans, made = default_planner.create_default_global_save_plan(all_plans)
            return plans, replace(made, planner_data=contents.paths)

        def finish_plan(self, new_plan):
            return new_plan

        def resolve_data(self, write_item):
            index = write_item.index
            if write_item.type != planner.WriteItemType.BYTE_IO:
                return contents.tensors[index.fqn].read_shard(index.offset)
            stream = io.BytesIO()
            torch.save(contents.objects[index.fqn], stream)
            return stream

    return Planner()


@contextlib.contextmanager
def _new_file(path):
    """Opens a new file that is synced before it is closed."""
    with open(path, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _write_json(path, value):
    with _new_file(path) as file:
        file.write(json.dumps(value, indent=1).encode())


def _sync_folder(path):
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.exists(path):
        os.unlink(path)


def _write(checkpoint, form, rank, out):
    ranks = manifest.own_ranks(checkpoint)
    if rank is not None and rank not in ranks:
        raise ValueError("step %d was saved by ranks 0 to %d; there is no rank %d" % (
            checkpoint.step, len(ranks) - 1, rank) if ranks else "step %d has one state for all "
            "ranks; --rank is for checkpoints with a state per rank" % checkpoint.step)
    whole, each = FORMS[form]
    if rank is None and len(ranks) > 1:
        each(checkpoint, ranks, out)
    else:
        whole(manifest.Contents(checkpoint, rank), out)
    if os.path.isdir(out):
        _sync_folder(out)


def export(directories, form, out, step=None, rank=None):
    """Exports the checkpoint of `step`, by default the newest, to `out`. Returns its step.

    `form`: a key of FORMS. `rank`: whose state to export, if each rank saved its own. Raises
    ValueError, OSError or a CheckpointError if that is not possible.
    """
    out = os.path.abspath(out)
    if os.path.lexists(out):
        raise ValueError("%s already exists" % out)
    checkpoint = manifest.opened(directories, step)
    partial = "%s.partial-%d" % (out, os.getpid())
    try:
        _write(checkpoint, form, rank, partial)
        os.rename(partial, out)
    except BaseException:
        _remove(partial)
        raise
    _sync_folder(os.path.dirname(out))
    return checkpoint.step


FORMS = {  # (writer for one state, writer for one state per rank)
    "safetensors": (to_safetensors, ranks_to_safetensors),
    "dcp": (to_dcp, ranks_to_dcp),
    "torch": (to_torch, ranks_to_torch),
}


def _cause(error):
    """The OSError behind `error`, such as a full disk, which torch's writer hides; else `error`."""
    each = error
    while each is not None and not isinstance(each, OSError):
        each = each.__context__
    return each or error


def main():
    parser = argparse.ArgumentParser(prog="robustrun ckpt export")
    parser.add_argument("--to", choices=sorted(FORMS), required=True)
    parser.add_argument("--step", type=int)
    parser.add_argument("--rank", type=int)
    parser.add_argument("directories", nargs="+")
    parser.add_argument("out")
    args = parser.parse_args()
    try:
        step = export(args.directories, args.to, args.out, args.step, args.rank)
    except (ValueError, TypeError, OSError, RuntimeError, ImportError) as error:
        print("robustrun: cannot export a checkpoint: %s" % _cause(error), file=sys.stderr)
        return 1
    print("step %d is in %s" % (step, args.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
