#!/bin/bash
#PBS -l select=16:ncpus=64:ngpus=8:mpiprocs=1
#PBS -l place=scatter:excl
#PBS -l walltime=12:00:00
#PBS -r y
# PBS Professional and OpenPBS. The agents start over SSH.
cd "$PBS_O_WORKDIR" || exit 2
trap 'kill -TERM "$supervisor" 2>/dev/null' TERM
robustrun --nproc-per-node=gpu --shutdown-timeout=120 train.py &
supervisor=$!
until wait "$supervisor"; code=$?; ! kill -0 "$supervisor" 2>/dev/null; do :; done
if [ "$code" -eq 94 ]; then # nodes were lost
  robustrun requeue
fi
exit "$code"
