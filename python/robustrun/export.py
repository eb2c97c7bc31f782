"""`robustrun ckpt export`: a checkpoint in formats that others read without robustrun.

    python -m robustrun.export --to safetensors|dcp|torch [--step N] -- DIRECTORY... OUT

safetensors  a folder: model.safetensors, or several of at most 4 GB and their index as Hugging
             Face has it, and objects.json with what is no tensor. One tensor at a time in memory.
dcp          a folder that torch.distributed.checkpoint loads, cut as it was saved.
torch        one file for torch.load(weights_only=True); all of it in memory.

Every byte is checked on the way. OUT appears when all of it is there and synced.
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

from . import _contents

FILE_BYTES_MAX = 4 << 30  # of a safetensors file, but for a tensor that is larger alone
_SAFETENSORS = {"BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "I16", "U16", "F16", "BF16", "I32", "U32",
                "F32", "I64", "U64", "F64"}


def to_safetensors(contents, out):
    strange = [name for name, tensor in contents.tensors.items()
               if tensor.dtype_name not in _SAFETENSORS]
    if strange:
        raise ValueError("safetensors has no type %s, which '%s' is of; use --to torch or dcp"
                         % (contents.tensors[strange[0]].dtype_name, strange[0]))
    os.mkdir(out)
    groups = _groups(contents.tensors)
    names = ["model.safetensors"] if len(groups) == 1 else [
        "model-%05d-of-%05d.safetensors" % (i + 1, len(groups)) for i in range(len(groups))]
    for name, group in zip(names, groups):
        _write_safetensors(os.path.join(out, name), group)
    if len(groups) > 1:
        _write_json(os.path.join(out, "model.safetensors.index.json"), {
            "metadata": {"total_size": sum(t.bytes for t in contents.tensors.values())},
            "weight_map": {t.name: name for name, group in zip(names, groups) for t in group}})
    if contents.objects:
        _write_json(os.path.join(out, "objects.json"),
                    {name: _plain(value) for name, value in sorted(contents.objects.items())})


def _groups(tensors):
    """Lists of tensors for one file each."""
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
    """As JSON: tuples become lists, bytes {"base64": …}, types their names; other keys texts."""
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


def to_dcp(contents, out):
    import torch.distributed.checkpoint as dcp

    planner = _planner(contents)
    writer = dcp.FileSystemWriter(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this is one process alone
        save = dcp.save if hasattr(dcp, "save") else dcp.save_state_dict  # torch 2.1
        alone = {"no_dist": True} if "no_dist" in inspect.signature(save).parameters else {}
        save({}, storage_writer=writer, planner=planner, **alone)


def _planner(contents):
    """A planner of DCP's whose items are what was saved, each read when it is written."""
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
    """Synced at its end."""
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


def export(directories, form, out, step=None):
    """Answers the step. ValueError, OSError or the engine's error say what cannot be done."""
    out = os.path.abspath(out)
    if os.path.lexists(out):
        raise ValueError("%s is there already" % out)
    contents = _contents.Contents(_contents.opened(directories, step))
    partial = "%s.partial-%d" % (out, os.getpid())
    try:
        FORMS[form](contents, partial)
        if os.path.isdir(partial):
            _sync_folder(partial)
        os.rename(partial, out)
    except BaseException:
        _remove(partial)
        raise
    _sync_folder(os.path.dirname(out))
    return contents.step


FORMS = {"safetensors": to_safetensors, "dcp": to_dcp, "torch": to_torch}


def main():
    parser = argparse.ArgumentParser(prog="robustrun ckpt export")
    parser.add_argument("--to", choices=sorted(FORMS), required=True)
    parser.add_argument("--step", type=int)
    parser.add_argument("directories", nargs="+")
    parser.add_argument("out")
    args = parser.parse_args()
    try:
        step = export(args.directories, args.to, args.out, args.step)
    except (ValueError, TypeError, OSError, RuntimeError, ImportError) as error:
        print("robustrun: cannot export a checkpoint: %s" % error, file=sys.stderr)
        return 1
    print("step %d is in %s" % (step, args.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
