"""Checkpoints on disk: robustrun ckpt, a second reader, and safetensors' own."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import safetensors
from checkpoint.reader import read_manifest, read_safetensors, read_shard

BUILD = Path(os.environ.get("ROBUSTRUN_BUILD_DIR", "build")).resolve()


@pytest.fixture
def folders(tmp_path):
    """Two directories with some checkpoints, whose writer was killed."""
    made = [tmp_path / "a", tmp_path / "b"]
    for folder in made:
        folder.mkdir()
    saver = subprocess.Popen([BUILD / "test-helpers" / "checkpoint_saver", *made],
                             stdout=subprocess.PIPE)
    try:
        for _ in range(3):
            assert saver.stdout.readline().strip().isdigit()
    finally:
        saver.kill()
        saver.wait()
        saver.stdout.close()
    return made


def ckpt(*words, code=0):
    done = subprocess.run([BUILD / "bin" / "robustrun", "ckpt", *words], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 or done.stdout else done.stderr


def newest(folders):
    return next(each for each in json.loads(ckpt("ls", "--json", *folders))
                if each["state"] == "committed")


def test_ls_inspect_and_verify_report_the_same_as_text_and_json(folders):
    found = newest(folders)
    assert found["step"] >= 3 and found["generation"] == 1 and found["tensors"] == 5
    assert f"{found['step']}" in ckpt("ls", *folders)
    whole = json.loads(ckpt("inspect", "--json", *folders))
    assert whole["digest"] == found["digest"] and whole["axes"] == [{"name": "dp", "size": 1}]
    assert "layer.weight" in ckpt("inspect", *folders)
    before = str(found["step"] - 1)
    assert json.loads(ckpt("inspect", "--json", "--step", before, *folders))["step"] == int(before)
    assert "sound" in ckpt("verify", *folders)
    assert all(not each["faults"] for each in json.loads(ckpt("verify", "--all", "--json",
                                                              *folders)))


def test_damage_and_loss_are_named_and_have_exit_code_1(folders):
    found = newest(folders)
    data = sorted(Path(found["folders"][1]).glob("*.safetensors"))[0]
    content = bytearray(data.read_bytes())
    content[5000] ^= 1
    data.write_bytes(content)
    said = ckpt("verify", *folders, code=1)
    assert "DAMAGED in 1 place" in said and str(data) in said
    assert "sound" in ckpt("verify", "--step", str(found["step"] - 1), *folders)
    data.unlink()
    assert "is missing" in ckpt("verify", *folders, code=1)
    for folder in found["folders"]:
        (Path(folder) / "MANIFEST").write_bytes(b"RRMANIFE and nothing else")
    assert newest(folders)["step"] == found["step"] - 1
    assert "lost" in ckpt("verify", "--step", str(found["step"]), *folders, code=1)


def test_impossible_requests_are_errors(tmp_path):
    assert "there is no such folder" in ckpt("ls", tmp_path / "none", code=2)
    assert "needs a directory" in ckpt("verify", code=2)
    assert "ls, inspect, verify, repair" in ckpt("mend", tmp_path, code=2)
    assert "no committed checkpoint" in ckpt("verify", tmp_path, code=1)
    assert json.loads(ckpt("ls", "--json", tmp_path)) == []


def test_repair_rewrites_copies_of_the_manifest_and_reports_losses(folders):
    found = newest(folders)
    copies = [Path(each) / "MANIFEST" for each in found["folders"]]
    whole = copies[0].read_bytes()
    copies[1].write_bytes(whole[:100])
    assert "nothing to repair" in ckpt("repair", "--step", str(found["step"] - 1), *folders)
    assert ckpt("verify", *folders, code=1)
    done = json.loads(ckpt("repair", "--json", *folders))
    assert done[0]["step"] == found["step"] and done[0]["done"] and not done[0]["lost"]
    assert copies[1].read_bytes() == whole
    assert "sound" in ckpt("verify", *folders)
    data = sorted(Path(found["folders"][0]).glob("*.safetensors"))[0]
    data.unlink()  # without parity it cannot be rebuilt
    said = ckpt("repair", *folders, code=1)
    assert "NOT WHOLE" in said and data.name in said


def steps_left(folders):
    return [each["step"] for each in json.loads(ckpt("ls", "--json", *folders))
            if each["state"] == "committed"]


def test_prune_keeps_pinned_checkpoints_and_the_newest_sound_ones(folders):
    before = steps_left(folders)
    oldest = str(before[-1])
    assert "pinned" in ckpt("pin", "--step", oldest, *folders)
    assert json.loads(ckpt("inspect", "--json", "--step", oldest, folders[1]))["pinned"]
    backwards = folders[::-1]  # the home is found, wherever it stands
    done = json.loads(ckpt("prune", "--keep=2", "--json", *backwards))
    assert [each["step"] for each in done["removed"] if each["state"] == "committed"] == \
        before[2:-1]
    assert steps_left(folders) == [*before[:2], before[-1]] and not done["notes"]
    assert all(each["verified"] for each in json.loads(ckpt("ls", "--json", *folders))[:2])
    assert "nothing removed, 3 left" in ckpt("prune", "--keep=2", *folders)
    assert "not pinned" in ckpt("unpin", "--step", oldest, *folders)
    assert f"removed step {oldest}, " in ckpt("prune", "--keep=2", *folders)
    assert steps_left(folders) == before[:2]


def test_prune_removes_nothing_when_a_checkpoint_to_keep_is_damaged(folders):
    before = steps_left(folders)
    found = newest(folders)
    data = sorted(Path(found["folders"][0]).glob("*.safetensors"))[0]
    content = bytearray(data.read_bytes())
    content[4200] ^= 8
    data.write_bytes(content)
    said = ckpt("prune", "--keep=1", *folders, code=1)
    assert "nothing removed" in said and str(data) in said
    assert steps_left(folders) == before
    content[4200] ^= 8
    data.write_bytes(content)
    ckpt("prune", f"--keep={len(before)}", *folders)  # which marks it as verified
    assert newest(folders)["verified"]
    content[4200] ^= 8
    data.write_bytes(content)
    assert "DAMAGED" in ckpt("verify", *folders, code=1)
    assert not newest(folders)["verified"]
    ckpt("prune", "--keep=1", *folders, code=1)
    assert steps_left(folders) == before[:2]  # the newest sound one stays


def test_prune_and_pin_report_missing_arguments(folders):
    assert "needs --keep N" in ckpt("prune", *folders, code=2)
    assert "at least 1" in ckpt("--help")
    assert "needs --step N" in ckpt("pin", *folders, code=2)
    assert "no committed checkpoint of step 99999" in ckpt("pin", "--step=99999", *folders, code=1)
    (folders[0] / "FENCE").write_text("fence 3 00000000\n")
    said = ckpt("prune", "--keep=1", *folders, code=1)
    assert "FENCE" in said and "checksum" in said


def test_a_reader_written_from_the_format_page_can_read_it(folders):
    said = json.loads(ckpt("inspect", "--json", *folders))
    manifest = read_manifest(Path(said["folders"][0]) / "MANIFEST")
    for key in ("step", "generation", "attempt", "sequence", "axes", "mounts", "writers"):
        assert manifest[key] == said[key]
    assert manifest["states"] == [(0, "loader", b"epoch 3, batch %d" % said["step"])]
    assert [len(read_shard(manifest, said["folders"], shard)) for shard in manifest["shards"]] == \
        [12000, 34, 8, 0, 5]


def test_every_data_file_is_a_safetensors_file(folders):
    said = json.loads(ckpt("inspect", "--json", *folders))
    manifest = read_manifest(Path(said["folders"][0]) / "MANIFEST")
    paths = [path for folder in said["folders"] for path in Path(folder).glob("*.safetensors")]
    assert len(paths) == len(manifest["files"])
    tensors = {}
    for path in paths:
        tensors.update(read_safetensors(path))
    for shard in manifest["shards"]:
        if not shard["bytes"]:
            continue
        dtype, shape, data = tensors[shard["name"]]
        assert data == read_shard(manifest, said["folders"], shard)
        if dtype == shard["dtype"]:
            assert shape == shard["shape"]
        else:
            assert dtype == "U8"


def test_safetensors_itself_reads_every_data_file(folders):
    for folder in newest(folders)["folders"]:
        for path in Path(folder).glob("*.safetensors"):
            own = {name: data for name, (_, _, data) in read_safetensors(path).items()}
            for name, entry in safetensors.deserialize(path.read_bytes()):
                assert bytes(entry["data"]) == own[name]
