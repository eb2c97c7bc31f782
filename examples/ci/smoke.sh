#!/bin/sh
# Smoke test of a training script, for CI: two ranks train, one of them is killed, and the run has to
# recover and get to its last step. Its exit code is the run's.
#
#   STEPS=60 examples/ci/smoke.sh train.py ARGUMENTS…
set -eu
robustrun --nproc-per-node=2 --max-restarts=1 --stop-after-steps="${STEPS:-60}" \
  --summary-junit=junit.xml "$@" &
run=$!
# Refused until the run is up; the run may also fail before.
until robustrun inject kill --rank=1 2> /dev/null; do
  kill -0 "$run" 2> /dev/null || break
  sleep 1
done
wait "$run"
