#!/bin/bash
#$ -pe mpi 16
#$ -l h_rt=12:00:00,gpu=8
#$ -cwd -j y -r y -notify
# Grid Engine: a parallel environment with one slot on each host. The agents start by qrsh -inherit,
# which needs `control_slaves TRUE` in the parallel environment. With -notify, SIGUSR2 precedes
# SIGKILL by the queue's `notify`, 60 s by default.
trap 'kill -TERM "$supervisor" 2>/dev/null' TERM USR1 USR2
robustrun --nproc-per-node=gpu --shutdown-timeout=50 train.py &
supervisor=$!
until wait "$supervisor"; code=$?; ! kill -0 "$supervisor" 2>/dev/null; do :; done
if [ "$code" -eq 94 ]; then # nodes were lost
  exit 99 # Grid Engine queues the job again
fi
exit "$code"
