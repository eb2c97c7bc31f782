#!/bin/sh
# Installs what a goal of the Makefile needs and this machine lacks.
#
#   scripts/install-deps.sh build        compiler, CMake, libraries
#   scripts/install-deps.sh demo         and a Python with PyTorch, if the user's has none
#   scripts/install-deps.sh test         and .venv with PyTorch and pytest, node_modules, clang, and
#                                        .gridengine
#   scripts/install-deps.sh torches      and other versions of PyTorch in .venv-torches, 5 GB each:
#                                        with those that are there, `make nightly` tests, too
#   scripts/install-deps.sh packages     and what training scripts import, in .venv-packages, 5 GB:
#                                        `make nightly` sees what their imports read
#   scripts/install-deps.sh bench        as test, and what figures compare with: pdsh, clush
#   scripts/install-deps.sh package      and .venv-package: what makes wheels and links against older
#                                        versions of glibc, 0.5 GB
#   scripts/install-deps.sh aarch64      as package, and a cross-compiler, the libraries of Debian's
#                                        arm64 in .sysroot-aarch64, emulators, and the system of an
#                                        emulated machine in .machine-aarch64, 1.5 GB
#   scripts/install-deps.sh lint         and clang-tidy, clang-format, ruff, jscpd
#
# Made for Debian 12. Does nothing, quickly and without root, when all is there; on another system
# it says what to install by hand, and goes on.
set -eu
cd "$(dirname "$0")/.."

TORCH="torch==2.13.0 numpy"
# What training scripts import beside it; the name of each module is its package's.
TRAINERS="tqdm rich transformers lightning accelerate"
TRACKERS="tensorboard mlflow-skinny wandb"
TRACKER_MODULES="tensorboard mlflow wandb"
TORCHES="2.1.2 2.3.1 2.6.0 2.8.0 2.14.1"
PACKAGES="aim albumentations bitsandbytes boto3 clearml comet-ml datasets deepspeed diffusers einops
  evaluate ftfy gymnasium h5py hydra-core jax jsonargparse kornia litgpt loguru matplotlib
  mlflow-skinny monai nltk numba nvidia-resiliency-ext omegaconf open_clip_torch
  opencv-python-headless optuna pandas peft pillow psutil pydantic-settings pytorch-ignite
  pytorch-lightning ray s3fs scikit-learn scipy sentence-transformers sentencepiece spacy
  tensorboard tensorboardX tiktoken timm torchvision trl wandb webdataset xgboost zarr"
BUILD="git make g++ cmake ninja-build ccache mold libboost1.81-dev libcli11-dev
  libtomlplusplus-dev libspdlog-dev libfmt-dev doctest-dev libprotobuf-dev protobuf-compiler
  libxxhash-dev libisal2 nlohmann-json3-dev libssl-dev zlib1g-dev libssh2-1-dev liburing-dev
  libfuse3-dev libcurl4-openssl-dev"
# Libraries and headers of the other processor. Headers alone are there, too: those of this machine
# are for this one.
AARCH64_LIBRARIES="libc6-dev libstdc++-12-dev libboost1.81-dev libcli11-dev libtomlplusplus-dev
  libspdlog-dev libfmt-dev doctest-dev libprotobuf-dev libxxhash-dev nlohmann-json3-dev libssl-dev
  zlib1g-dev libssh2-1-dev liburing-dev libfuse3-dev libcurl4-openssl-dev"
AARCH64="g++-aarch64-linux-gnu qemu-user-static qemu-system-arm cpio"
# What the emulated machine of the tests runs.
AARCH64_MACHINE="linux-image-cloud-arm64 busybox-static python3"
PACKAGERS="scikit-build-core==1.1.2 auditwheel==6.8.2 ziglang==0.17.1"
NODE="axe-core@4.14.1 speedscope@1.25.0"
PYTHON="python3 python3-venv python3-dev"
SSH="openssh-server openssh-client iproute2 nftables munge libmunge2"
SLURM="slurmctld slurmd slurm-client"
GRID_ENGINE="gridengine-master gridengine-exec gridengine-client gridengine-common"
GRID_ENGINE_LIBRARIES="libjemalloc2 libhwloc15 libtirpc3 libdb5.3"
CLOCK="faketime"
ORACLE="coinor-cbc"
FUSE="bindfs fuse3"
ROOTS="debootstrap busybox-static"
BROWSER="chromium-headless-shell"
SHELLS="zsh groff-base tmux"
METRICS="prometheus"
IMAGES="nginx-light squashfs-tools squashfuse bubblewrap openssl"
PEERS="pdsh clustershell fio"
CLANG="clang-19 libclang-rt-19-dev"
LINT="clang-tidy-19 clang-format-19"

say() { echo "install-deps: $*" >&2; }

is_installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "this is no Debian system: these packages, under their names there, are not checked:"
    say $*
    return
  fi
  missing=""
  for package in "$@"; do
    is_installed "$package" || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    say "cannot install packages: not root and no sudo; let an administrator run"
    say "  apt-get install$missing"
    exit 1
  fi
  say "installing$missing"
  as_root apt-get update -qq
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends $missing; then
    . /etc/os-release
    say "cannot install all packages; they are named as in Debian 12, this is ${PRETTY_NAME:-?}"
    exit 1
  fi
}

has_module() { "$1" -c "
import importlib.util, sys
sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))" $2 2>/dev/null; }

install_python() {  # modules that must be there, what pip is asked for
  has_module .venv/bin/python "$1" && return
  install_packages $PYTHON
  [ -x .venv/bin/python ] || python3 -m venv .venv
  say "installing $1 into .venv"
  .venv/bin/pip install -q $2
}

# Only unpacked, in .gridengine: the packages would ask questions and start daemons.
install_grid_engine() {
  folder=.gridengine
  [ "$(cat $folder/installed 2>/dev/null)" != "$GRID_ENGINE" ] || return 0
  command -v apt-get >/dev/null || return 0
  say "unpacking $GRID_ENGINE into $folder"
  rm -rf $folder $folder.new
  mkdir $folder.new
  (cd $folder.new && apt-get download -qq $GRID_ENGINE) || {
    as_root apt-get update -qq
    (cd $folder.new && apt-get download -qq $GRID_ENGINE)
  }
  for package in $folder.new/*.deb; do
    dpkg-deb -x "$package" $folder.new
    rm "$package"
  done
  echo "$GRID_ENGINE" > $folder.new/installed
  mv $folder.new $folder
}

install_torches() {
  for version in $TORCHES; do
    folder=.venv-torches/$version
    has_module "$folder/bin/python" "torch numpy pytest safetensors" && continue
    [ -x "$folder/bin/python" ] || python3 -m venv "$folder"
    say "installing torch $version into $folder"
    "$folder/bin/pip" install -q "torch==$version" "numpy<2" pytest safetensors
  done
}

install_packagers() {
  folder=.venv-package
  [ "$(cat $folder/installed 2>/dev/null)" != "$PACKAGERS" ] || return 0
  install_packages $PYTHON
  [ -x $folder/bin/python ] || python3 -m venv $folder
  say "installing $PACKAGERS into $folder"
  $folder/bin/pip install -q $PACKAGERS
  echo "$PACKAGERS" > $folder/installed
}

install_node_packages() {
  folder=node_modules
  [ "$(cat $folder/installed 2>/dev/null)" != "$NODE" ] || return 0
  command -v npm >/dev/null || install_packages npm
  say "installing $NODE into $folder"
  npm install --loglevel=error --no-fund --no-audit --no-save --no-package-lock --ignore-scripts \
    --prefix . $NODE
  echo "$NODE" > $folder/installed
}

install_trainers() {
  folder=.venv-packages
  [ -x $folder/bin/python ] || python3 -m venv $folder
  "$folder/bin/pip" install -q $TORCH
  for package in $TRAINERS $PACKAGES; do
    # In turn: they do not all fit together, and one that cannot be had is left out.
    "$folder/bin/pip" install -q --only-binary :all: $TORCH "$package" ||
      say "$package is left out"
  done
}

case "${1:-build}" in
  build) install_packages $BUILD ;;
  demo)
    install_packages $BUILD
    [ -n "$(scripts/find-python)" ] || install_python "torch numpy" "$TORCH"
    ;;
  test | bench)
    install_packages $BUILD $PYTHON $CLANG $SSH $SLURM $GRID_ENGINE_LIBRARIES $CLOCK $ORACLE $FUSE \
      $IMAGES $ROOTS $BROWSER $SHELLS $METRICS
    install_grid_engine
    [ "$1" = test ] || install_packages $PEERS
    install_python \
      "torch numpy pytest safetensors uv pyarrow zstandard $TRAINERS hydra $TRACKER_MODULES
       kubernetes_validate" \
      "$TORCH pytest safetensors uv pyarrow zstandard $TRAINERS hydra-core $TRACKERS
       kubernetes-validate"
    install_packagers
    install_node_packages
    ;;
  package)
    install_packages $BUILD
    install_packagers
    ;;
  aarch64)
    install_packages $BUILD $AARCH64
    install_packagers
    scripts/sysroot .sysroot-aarch64 arm64 $AARCH64_LIBRARIES
    scripts/sysroot .machine-aarch64 arm64 $AARCH64_MACHINE
    ;;
  torches)
    install_packages $PYTHON
    install_torches
    ;;
  packages)
    install_packages $PYTHON
    install_trainers
    ;;
  lint)
    install_packages $BUILD $LINT
    install_python ruff ruff
    [ -x .venv/bin/jscpd ] || install_python jscpd jscpd==5.4.2  # a program, no module
    ;;
  *)
    say "unknown goal '$1': build, demo, test, torches, packages, package, aarch64, bench or lint"
    exit 2
    ;;
esac
