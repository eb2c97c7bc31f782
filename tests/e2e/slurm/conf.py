"""The configuration files of a private Slurm cluster (cluster.py)."""

import os
import pwd

# Slurm takes only device files for GPUs.
GPUS = ("/dev/zero", "/dev/full", "/dev/null", "/dev/random")


def write(cluster, cpus, gpus, proctrack, kill_wait_s, grace_s, requeue_after_s, options):
    """Writes slurm.conf, gres.conf, cgroup.conf and munge's key to the cluster's folder."""
    here, user = cluster.folder, pwd.getpwuid(os.geteuid()).pw_name
    cluster.conf.write_text("\n".join([
        "ClusterName=rr",
        # Slurm replaces localhost by this host's name, so it needs that name; it need not resolve.
        f"SlurmctldHost=localhost({cluster.controller})",
        f"SlurmctldPort={cluster.port}",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        "AuthType=auth/munge",
        "CredType=cred/munge",
        f"AuthInfo=socket={here}/munge,cred_expire={requeue_after_s}",
        "MailProg=/bin/true",
        f"StateSaveLocation={here}/state",
        f"SlurmdSpoolDir={here}/%n",
        f"SlurmctldPidFile={here}/slurmctld.pid",
        f"SlurmdPidFile={here}/%n.pid",
        f"SlurmctldLogFile={here}/slurmctld.log",
        f"SlurmdLogFile={here}/%n.log",
        "SlurmctldDebug=verbose",
        "SlurmdDebug=verbose",
        f"ProctrackType=proctrack/{proctrack}",
        "TaskPlugin=task/none",
        "SwitchType=switch/none",
        "MpiDefault=none",
        "JobAcctGatherType=jobacct_gather/none",
        "AccountingStorageType=accounting_storage/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU",
        "SlurmdParameters=config_overrides",
        "GresTypes=gpu",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        "JobRequeue=1",
        f"KillWait={kill_wait_s}",
        # A busy machine must not look like a dead one.
        "SlurmdTimeout=300",
        "ReturnToService=2",
        # Everything at once.
        "SchedulerType=sched/backfill",
        "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1",
        *options,
        *(
            f"NodeName={node.name} NodeHostname=localhost NodeAddr={node.address} "
            f"Port={node.port} CPUs={cpus}" + (f" Gres=gpu:{gpus}" if gpus else "")
            for node in cluster.nodes
        ),
        "PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 "
        f"PreemptMode=REQUEUE GraceTime={grace_s}",
        "PartitionName=high Nodes=ALL MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF",
        "",
    ]))
    devices = "".join(f"Name=gpu File={device}\n" for device in GPUS[:gpus])
    (here / "gres.conf").write_text(f"AutoDetect=off\n{devices}")
    if proctrack == "cgroup":
        (here / "cgroup.conf").write_text(
            "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n"
        )
    (here / "key").write_bytes(os.urandom(128))
    (here / "key").chmod(0o600)
