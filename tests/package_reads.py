"""What packages of training scripts read of the environment while they are imported: which of the
variables that differ from attempt to attempt. A standby worker imports all that reads none."""

import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Module -> what it reads. RANK is another one on a spare node alone.
READS = {
    "torch": set(),
    "tqdm": set(),
    "transformers.trainer": set(),
    "lightning": {"RANK"},
    "accelerate": set(),
}
# The rest of what training scripts import most: scripts/install-deps.sh packages.
MORE_READS = dict.fromkeys("""
    PIL aim albumentations bitsandbytes boto3 clearml comet_ml cv2 datasets deepspeed
    diffusers einops evaluate ftfy gymnasium h5py hydra ignite jax jsonargparse kornia
    loguru matplotlib.pyplot mlflow monai nltk numba nvidia_resiliency_ext.fault_tolerance
    omegaconf open_clip optuna pandas peft psutil pydantic_settings ray s3fs scipy
    sentence_transformers sentencepiece sklearn spacy tensorboard tensorboardX tiktoken timm
    torch.utils.tensorboard torchvision trl wandb webdataset xgboost zarr
    """.split(), set()) | dict.fromkeys(["pytorch_lightning", "litgpt"], {"RANK"})

PROBE = """
import json, os, sys
from robustrun._boot import standby
with standby._Watch() as watch:
    try:
        __import__(sys.argv[1])
        error = None
    except BaseException as problem:
        error = repr(problem)
print(json.dumps({"read": sorted(watch.read), "error": error}), file=sys.stderr)
os._exit(0)
"""


def attempt_variables():
    header = (ROOT / "agent" / "spawn" / "standby_match.h").read_text()
    names = re.findall(r'"(\w+)"', header[header.index("kAttemptVariables = {"):].split("}")[0])
    assert {"RANK", "MASTER_PORT", "ROBUSTRUN_ATTEMPT"} <= set(names)
    return names


def read_by_import(python, module, folder):
    """Of the attempt's variables; and the error of an import that failed halfway."""
    names = attempt_variables()
    ours = ("ROBUSTRUN_", "TORCHELASTIC_", "PYTHON")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    env.update({name: "7" for name in names}, PYTHONPATH=str(ROOT / "python"),
               PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1", NO_ALBUMENTATIONS_UPDATE="1")
    done = subprocess.run([str(python), "-c", PROBE, module], cwd=folder, env=env, timeout=300,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    found = json.loads(done.stderr.splitlines()[-1])
    return set(found["read"]) & set(names), found["error"]
