# bash completion for robustrun, made by `robustrun completion bash`.

_robustrun_commands='run check plan submit requeue k8s demo doctor ls logs rm status top attach stop resume update report diagnose inject replay ckpt cache data nodes policy sim completion help version'

_robustrun_syntax() {
  local run_flags='--standalone -m --module --no-python --run-path --virtual-local-rank --use-env --dry-run --child-failed-block --insecure-rdzv --fold-lines --detach --slurm -q --quiet -h --help --version'
  local run_valued='--nnodes --nproc-per-node --rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf --max-restarts --monitor-interval --start-method --event-log-handler --role --log-dir -r --redirects -t --tee --local-ranks-filter --duplicate-stdout-filters --duplicate-stderr-filters --log-line-prefix-template --node-rank --master-addr --master-port --local-addr --logs-specs --numa-binding --signals-to-handle --shutdown-timeout --print-completion -c --config --print-config --compat --run-dir --time-limit --stop-after-steps --summary-json --summary-junit --restart-window --inject --omp --accelerate-config --stdin --line-prefix --log-format --log-level --colour --stack-signal --hosts --hostfile --include --exclude --spares --nodes-min --rank0 --iface --launcher --ssh-transport --ssh-command --ssh-fanout --ssh-timeout --secret-file --orphan-grace --heartbeat-interval --node-suspect-after --node-lost-after --wait-for-nodes --live-line --ranks-filter --expect-world --allocation --slurm-poll --replace --replace-with --save-within --numa-memory --preflight --topology --parallel --rank-order --affinity --model --traffic --rerank --node-history --trace --hang-timeout --copies-rate --metrics-port --metrics-file --events --on-incident --on-bad-node --notify --notify-stalled --faults --policy --health --standby --line-metrics --log-formats --trackers --checkpoints --replay-cmd --prefetch --store --cache-dir --cache-max --image --image-mode --container-runtime --container-mounts --stage --sync-code --peers-rate --deps --setup-cmd --deps-ttl'
  case $1 in
    run)
      flags="$run_flags " valued="$run_valued " script=1 ;;
    check)
      flags="$run_flags --gpu" valued="$run_valued " script=1 ;;
    plan)
      flags="$run_flags --json" valued="$run_valued --html --svg --colour-by --explain --lose" script=1 ;;
    submit)
      flags="$run_flags " valued="$run_valued --nodes --partition --account --qos --time --job-name --gpus-per-node --cpus-per-task --mem --output --requeue-on --sbatch" script=1 ;;
    requeue)
      flags='-h --help' valued='' kind=runs ;;
    k8s)
      flags="$run_flags --jobset" valued="$run_valued --pod-image --pod-volume --pod-queue --nodes --job-name --gpus-per-node --cpus-per-task --mem" script=1 ;;
    demo)
      flags='-h --help' valued='' kind=none ;;
    doctor)
      flags='--json -h --help' valued='--hosts --hostfile --ssh-transport --ssh-command --ssh-fanout --ssh-timeout' kind=none ;;
    ls)
      flags='-a --all --json --ids -h --help' valued='' kind=none ;;
    logs)
      flags='-f --follow --stderr -h --help' valued='--rank --attempt --grep' kind=runs ;;
    rm)
      flags='-n --dry-run -h --help' valued='--older-than' kind=runs ;;
    status)
      flags='--json --watch -h --help' valued='' kind=runs ;;
    top)
      flags='-h --help' valued='' kind=runs ;;
    attach)
      flags='-h --help' valued='-n --lines' kind=runs ;;
    stop)
      flags='--no-wait -h --help' valued='--signal --grace' kind=runs ;;
    resume)
      flags='--detach -h --help' valued='' kind=runs ;;
    update)
      flags='--now --list --json -h --help' valued='--within --code --code-root --env --unset --args --rollback' kind=runs ;;
    report)
      flags='-v --verbose --json --open -h --help' valued='--html --trace' kind=runs ;;
    diagnose)
      flags='--json -h --help' valued='--html --from' kind=runs ;;
    inject)
      flags='-h --help' valued='--rank --node --for --delay --after --every --seed' words='kill stop segfault abort exception gil-lock collective-sleep data-stall net-delay net-drop disk-full agent-death supervisor-death' kind=runs ;;
    replay)
      flags="$run_flags " valued="$run_valued --unit --hosts" script=1 ;;
    ckpt)
      flags='--all --json -h --help' valued='--step --keep --to --rank' words='ls inspect verify repair prune pin unpin export' kind=verbs:folders ;;
    cache)
      flags='--json -h --help' valued='--max --unused --cache-dir' words='ls verify gc' kind=verbs:none ;;
    data)
      flags='--json -h --help' valued='--ranks --seconds --steps --processes --part' words='plan prepare bench audit' kind=verbs:files ;;
    nodes)
      flags='--names --json -h --help' valued='--node-history --run' words='forget' kind=verbs:none ;;
    policy)
      flags='-h --help' valued='--policy' kind=none ;;
    sim)
      flags='--json -h --help' valued='--nodes --gpus-per-node --spares --preset --failures --from-journal --replay --step-time --start --checkpoint-every --checkpoint-save --checkpoint-load --residual --days --seeds --seed --compare --policy --svg' kind=none ;;
    completion)
      flags='-h --help' valued='' words='bash zsh' kind=none ;;
    help)
      flags='--markdown --man -h --help' valued='' words='run check plan submit requeue k8s demo doctor ls logs rm status top attach stop resume update report diagnose inject replay ckpt cache data nodes policy sim completion help version workers cluster placement failures output general values torchrun all' kind=none ;;
    version)
      flags='-h --help' valued='' kind=none ;;
  esac
}

_robustrun_value() {
  case $1 in
    'run -c' | 'run --config' | 'run --summary-json' | 'run --summary-junit' | 'run --accelerate-config' | 'run --hostfile' | 'run --secret-file' | 'run --metrics-file' | 'run --events' | 'run --faults' | 'run --policy' | 'run --log-formats' | 'run --image' | 'run --stage' | 'run --deps' | 'plan --html' | 'plan --svg' | 'submit --output' | 'doctor --hostfile' | 'report --html' | 'report --trace' | 'diagnose --html' | 'diagnose --from' | 'policy --policy' | 'sim --failures' | 'sim --policy' | 'sim --svg')
      kind=files ;;
    'run --log-dir' | 'run --run-dir' | 'run --sync-code' | 'update --code' | 'update --code-root' | 'cache --cache-dir' | 'nodes --node-history')
      kind=folders ;;
    'nodes --run' | 'sim --from-journal' | 'sim --replay')
      kind=runs ;;
    'stop --signal')
      words='SIGTERM SIGINT SIGHUP SIGQUIT SIGUSR1 SIGUSR2' kind=none ;;
    'run --store')
      words='agent worker' kind=none ;;
    'run --nproc-per-node')
      words='auto cpu gpu xpu' kind=none ;;
    'run --trace')
      words='auto dispatcher off' kind=none ;;
    'run --preflight')
      words='auto fast full gpu off' kind=none ;;
    'run --ssh-transport' | 'doctor --ssh-transport')
      words='auto libssh2 openssh' kind=none ;;
    'run --launcher')
      words='auto local processes ssh slurm join' kind=none ;;
    'run --colour')
      words='auto never always' kind=none ;;
    'run --container-runtime')
      words='auto none bwrap apptainer enroot' kind=none ;;
    'run --topology')
      words='auto off' kind=files ;;
    'run --node-history')
      words='auto off' kind=folders ;;
    'run --live-line')
      words='auto off' kind=none ;;
    'run --line-prefix' | 'run --prefetch')
      words='auto on off' kind=none ;;
    'run --image-mode')
      words='auto pagecache blocks' kind=none ;;
    'run --allocation')
      words='auto slurm pbs sge lsf none' kind=none ;;
    'run --omp')
      words='auto torchrun off' kind=none ;;
    'run --cache-dir')
      words='auto' kind=folders ;;
    'run --line-metrics')
      words='auto' kind=none ;;
    'run --print-completion')
      words='bash zsh' kind=none ;;
    'run --log-level')
      words='debug info warn error off' kind=none ;;
    'run --log-format')
      words='human json' kind=none ;;
    'run --print-config')
      words='json toml' kind=none ;;
    'run --compat')
      words='native torchrun' kind=none ;;
    'run --rerank')
      words='never nodes all' kind=none ;;
    'run --numa-binding')
      words='node socket exclusive core-complex' kind=none ;;
    'run --numa-memory')
      words='off prefer bind' kind=none ;;
    'run --standby')
      words='off spares all' kind=none ;;
    'run --inject' | 'run --health')
      words='on off' kind=none ;;
    'run --trackers')
      words='resume' kind=none ;;
    'sim --preset')
      words='rsc-1 rsc-2 llama3 byterobust-dense byterobust-moe ft-hsdp' kind=none ;;
    'ckpt --to')
      words='safetensors dcp torch' kind=none ;;
    'run --on-bad-node')
      words='slurm-drain slurm-comment' kind=none ;;
    'run --start-method')
      words='spawn fork forkserver' kind=none ;;
    'run --rdzv-backend')
      words='static c10d' kind=none ;;
    'sim --compare')
      words='torchrun torchrun-slow byterobust byterobust-all-in none' kind=none ;;
    'plan --colour-by')
      words='tp cp ep dp pp' kind=none ;;
  esac
}

# Ids of runs. A script named "ls" in this directory would be started instead: then none.
_robustrun_runs() {
  [[ -e ls ]] || "${COMP_WORDS[0]/#\~/$HOME}" ls --ids 2>/dev/null
}

_robustrun() {
  local IFS=$' \t\n' word=${COMP_WORDS[COMP_CWORD]} command=run at=1 count=0
  local flags='' valued='' words='' kind=files script='' option='' prefix='' each name
  COMPREPLY=()
  if ((COMP_CWORD > 1)) && [[ " $_robustrun_commands " == *" ${COMP_WORDS[1]} "* ]]; then
    command=${COMP_WORDS[1]} at=2
  fi
  _robustrun_syntax "$command"
  while ((at < COMP_CWORD)); do
    each=${COMP_WORDS[at]} name=${COMP_WORDS[at]}
    [[ $name == --* ]] && name=${name//_/-}
    case $each in
      --*=*) ((at += 1)) ;;
      -*)
        if [[ ${COMP_WORDS[at + 1]} == '=' ]]; then  # bash splits words there
          ((at + 2 >= COMP_CWORD)) && option=$name
          ((at += 3))
        elif [[ " $valued " == *" $name "* ]]; then
          ((at + 1 == COMP_CWORD)) && option=$name
          ((at += 2))
        else
          ((at += 1))
        fi ;;
      *)
        [[ -n $script ]] && return  # the rest belongs to the script
        ((at += 1, count += 1)) ;;
    esac
  done
  [[ $word == '=' ]] && word=''
  if [[ -z $option && $word == --*=* ]]; then
    prefix=${word%%=*}= option=${word%%=*} word=${word#*=}
    option=${option//_/-}
  fi
  if [[ -n $option ]]; then
    words='' kind=none
    _robustrun_value "$command $option"
    [[ $kind == none && -z $words && -n $script ]] && _robustrun_value "run $option"
  elif [[ $word == -* ]]; then
    words="$flags $valued" kind=none
  elif ((COMP_CWORD == 1)); then
    words=$_robustrun_commands kind=files
  elif [[ $kind == verbs:* ]]; then
    if ((count == 0)); then kind=none; else words='' kind=${kind#verbs:}; fi
  fi
  for each in $words; do
    [[ $each == "$word"* ]] && COMPREPLY+=("$prefix$each")
  done
  case $kind in
    runs)
      while read -r each; do
        printf -v each %q "$each"
        [[ $each == "$word"* ]] && COMPREPLY+=("$prefix$each")
      done < <(echo latest; _robustrun_runs) ;;
    folders) compopt -o dirnames +o default 2>/dev/null ;;
    none) compopt +o default 2>/dev/null ;;
    files)
      # Files beside words; alone they are bash's own default.
      if ((${#COMPREPLY[@]} > 0)) && [[ -n $word ]]; then
        compopt -o filenames 2>/dev/null
        while read -r each; do COMPREPLY+=("$prefix$each"); done < <(compgen -f -- "$word")
      fi ;;
  esac
}

complete -o default -F _robustrun robustrun
