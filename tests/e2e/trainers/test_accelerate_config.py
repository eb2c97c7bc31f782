"""--accelerate-config gives workers the variables that `accelerate launch` gives them."""

import json
import os
import sys

import pytest

# A rank of accelerate's own launcher of one process has no RANK.
SHOW = r"""
import json, os
with open(os.path.join(os.environ["OUT"], os.environ.get("RANK", "0")), "w") as out:
    json.dump(dict(os.environ), out)
"""
ACCELERATE = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch"]

CPU = """
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_CPU
use_cpu: true
mixed_precision: 'no'
num_machines: 1
num_processes: 2
machine_rank: 0
main_training_function: main
enable_cpu_affinity: false
"""
MIXED = """
distributed_type: MULTI_GPU
mixed_precision: bf16
gpu_ids: 0,1
num_machines: 1
num_processes: 2
main_process_port: 29611
debug: true
dynamo_config:
  dynamo_backend: INDUCTOR
  dynamo_mode: max-autotune
  dynamo_use_fullgraph: true
"""
FSDP = """
distributed_type: FSDP
mixed_precision: fp16
num_machines: 1
num_processes: 2
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
  reshard_after_forward: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_activation_checkpointing: true
parallelism_config:
  parallelism_config_dp_shard_size: 2
"""
# JSON is accelerate's other format.
MEGATRON = json.dumps({
    "distributed_type": "MEGATRON_LM", "num_processes": 2, "num_machines": 1,
    "mixed_precision": "bf16",
    "megatron_lm_config": {"megatron_lm_tp_degree": 2, "megatron_lm_pp_degree": 1,
                           "megatron_lm_gradient_clipping": 1.0}})
ZERO3 = """
distributed_type: DEEPSPEED
mixed_precision: bf16
num_machines: 1
num_processes: 2
deepspeed_config:
  zero_stage: 3
  gradient_accumulation_steps: 4
  gradient_clipping: 0.5
  offload_optimizer_device: cpu
  offload_param_device: none
  zero3_init_flag: true
  zero3_save_16bit_model: true
"""
CONFIGS = {"cpu.yaml": CPU, "mixed.yaml": MIXED, "fsdp.yaml": FSDP, "megatron.json": MEGATRON,
           "zero3.yaml": ZERO3}
# What the launchers decide themselves, as in test_environment.py.
LAUNCHERS = ("TORCHELASTIC_", "ROBUSTRUN_", "MASTER_", "GROUP_", "ROLE_", "LOCAL_", "TORCH_FR_",
             "NCCL_RAS_", "NCCL_PROFILER_", "TORCH_NCCL_ASYNC_")
LAUNCHERS_WORDS = {"RANK", "WORLD_SIZE", "NODE_RANK", "OUT"}


def is_launchers(name):
    return name in LAUNCHERS_WORDS or name.startswith(LAUNCHERS)


def pretend_deepspeed(folder):
    """accelerate looks for the package before it makes the environment, and uses one name of it."""
    (folder / "deepspeed" / "launcher").mkdir(parents=True)
    for part in ("__init__.py", "launcher/__init__.py"):
        (folder / "deepspeed" / part).touch()
    (folder / "deepspeed" / "launcher" / "runner.py").write_text(
        'DEEPSPEED_ENVIRONMENT_NAME = ".deepspeed_env"\n')
    about = folder / "deepspeed-0.18.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: deepspeed\nVersion: 0.18.0\n")


@pytest.fixture
def shown(robustrun):
    """The environment of each worker of a command, and what the command wrote."""
    robustrun.write("show.py", SHOW)

    def run(name, command, env):
        out = robustrun.folder / name
        out.mkdir()
        finished = robustrun.run(*command[1:], "show.py", argv0=command[0],
                                 env={**env, "OUT": str(out)})
        assert finished.code == 0, finished.errors
        workers = [json.loads(file.read_text()) for file in sorted(out.iterdir())]
        return [{k: v for k, v in one.items() if not is_launchers(k)} for one in workers], finished

    return run


@pytest.mark.parametrize("config", [
    name if name in ("cpu.yaml", "fsdp.yaml") else pytest.param(name, marks=pytest.mark.nightly)
    for name in CONFIGS])
def test_the_environment_is_the_same_as_with_accelerate_launch(robustrun, shown, config):
    robustrun.write(config, CONFIGS[config])
    env = {"ACCELERATE_MIXED_PRECISION": "fp16", "PYTHONPATH": str(robustrun.folder / "site")}
    if config == "zero3.yaml":
        pretend_deepspeed(robustrun.folder / "site")
    if config == "mixed.yaml":
        env["OMP_NUM_THREADS"] = "3"
    theirs, _ = shown("theirs", [*ACCELERATE, "--config_file", config], env)
    # Its count of processes is the default of --nproc-per-node.
    ours, _ = shown("ours", [str(robustrun.binary), "--accelerate-config", config], env)
    assert len(ours) == 2
    # accelerate starts several processes on CPUs only by mpirun.
    assert len(theirs) == (1 if config == "cpu.yaml" else 2)
    for seen in ours:
        added = seen["PYTHONPATH"].removeprefix(theirs[0]["PYTHONPATH"])
        assert added.endswith("/share/robustrun/python")
        assert {**seen, "PYTHONPATH": ""} == {**theirs[0], "PYTHONPATH": ""}
    assert theirs[0]["ACCELERATE_MIXED_PRECISION"] != "fp16" or config == "fsdp.yaml"


def test_options_win_over_the_files_counts_and_threads(robustrun, shown):
    robustrun.write("cpu.yaml", CPU)
    ours, _ = shown("ours", [str(robustrun.binary), "--accelerate-config=cpu.yaml",
                             "--nproc-per-node=3", "--omp=2"], {})
    assert [seen["OMP_NUM_THREADS"] for seen in ours] == ["2"] * 3


def test_unknown_keys_are_named_in_one_line_and_the_run_goes_on(robustrun, shown):
    robustrun.write("odd.yaml", FSDP + "  parallelism_config_moon_size: 2\ncolour: green\n")
    ours, finished = shown("ours", [str(robustrun.binary), "--accelerate-config=odd.yaml"], {})
    assert {seen["FSDP_VERSION"] for seen in ours} == {"2"}
    (line,) = [line for line in finished.errors.splitlines() if "colour" in line]
    assert "odd.yaml" in line and "colour (line 18)" in line
    assert "parallelism_config.parallelism_config_moon_size (line 17)" in line


@pytest.mark.parametrize("text, error", [
    ("distributed_type: NO\nnum_processes: [2\nuse_cpu: true\n", "acc.yaml:3: "),
    pytest.param("just words\n", "acc.yaml:1: expected keys and values", marks=pytest.mark.nightly),
    pytest.param("num_processes: two\ndistributed_type: NO\n",
                 "acc.yaml:1: num_processes must be a number", marks=pytest.mark.nightly),
    ("num_processes: 2\n", "acc.yaml: A `distributed_type` must be specified"),
    ("distributed_type: XLA\nnum_processes: 2\n", "acc.yaml: robustrun starts no TPU"),
    pytest.param("distributed_type: MULTI_GPU\nmixed_precision: fp99\nnum_processes: 2\n",
                 "fp99", marks=pytest.mark.nightly),
    (None, "cannot read acc.yaml: No such file or directory"),
], ids=["syntax", "words", "number", "type", "tpu", "precision", "missing"])
def test_a_wrong_file_is_an_error_in_one_line(robustrun, text, error):
    robustrun.write("show.py", SHOW)
    if text is not None:
        robustrun.write("acc.yaml", text)
    finished = robustrun.run("--accelerate-config=acc.yaml", "show.py")
    assert finished.code == 2
    assert error in finished.errors
    assert len(finished.errors.strip().splitlines()) == 1 and "Traceback" not in finished.errors


def test_an_interpreter_without_accelerate_is_named(robustrun):
    robustrun.write("show.py", SHOW)
    robustrun.write("acc.yaml", CPU)
    python = robustrun.write("python", f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
    os.chmod(python, 0o755)
    finished = robustrun.run("--accelerate-config=acc.yaml", "show.py",
                             env={"PYTHON_EXEC": str(python)})
    assert finished.code == 2
    assert "has no accelerate" in finished.errors and "PYTHON_EXEC" in finished.errors
