#!/bin/bash
#BSUB -n 16 -R "span[ptile=1]" -gpu "num=8"
#BSUB -W 12:00
#BSUB -r -x -o out.%J
# LSF: one slot on each host. The agents start by blaunch.
trap 'kill -TERM "$supervisor" 2>/dev/null' TERM USR2
robustrun --nproc-per-node=gpu --shutdown-timeout=120 train.py &
supervisor=$!
until wait "$supervisor"; code=$?; ! kill -0 "$supervisor" 2>/dev/null; do :; done
if [ "$code" -eq 94 ]; then # nodes were lost
  robustrun requeue
fi
exit "$code"
