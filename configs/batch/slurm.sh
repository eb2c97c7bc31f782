#!/bin/bash
#SBATCH --nodes=16 --ntasks-per-node=1 --gpus-per-node=8 --exclusive --mem=0
#SBATCH --time=12:00:00 --signal=B:USR1@180
#SBATCH --no-kill --requeue --open-mode=append
# Slurm. `robustrun submit --dry-run` prints a longer one, which also replaces a dead supervisor.
run=robustrun-runs/slurm-$SLURM_JOB_ID${SLURM_RESTART_COUNT:+-$SLURM_RESTART_COUNT}
trap 'kill -TERM "$supervisor" 2>/dev/null' TERM USR1
robustrun --run-dir "$run" --shutdown-timeout=120 train.py &
supervisor=$!
until wait "$supervisor"; code=$?; ! kill -0 "$supervisor" 2>/dev/null; do :; done
if [ "$code" -eq 94 ]; then # nodes were lost, or the job was preempted
  trap '' TERM
  robustrun requeue "$run"
fi
exit "$code"
