"""A run of many simulated nodes (tests/helpers/simulated_agents.cpp), joined over TLS on this
machine."""

import hashlib
import resource
import secrets
import socket
import subprocess

from helpers.jobs import GROUP_FORMED, start_job
from helpers.processes import wait_for
from helpers.runner import BUILD

FOREVER = ("/bin/sleep", "100000")  # the program of the one real worker


def rack_topology(nodes, racks):
    """A topology file of this machine and `nodes` simulated ones, which take turns in the racks."""
    names = [[f"sim-{i + 1}" for i in range(rack, nodes, racks)] for rack in range(racks)]
    names[0].append(socket.gethostname())
    quoted = [", ".join(f'"{name}"' for name in rack) for rack in names]
    return "".join(f'[[switch]]\nname = "rack{i:02}"\nnodes = [{rack}]\n'
                   for i, rack in enumerate(quoted))


def start_fleet(runner, nodes, workers, *options, laggard=0):
    """A run in which all simulated workers do a step a second; the first one of agent `laggard`
    stops soon."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # both processes have one per agent
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    secret = runner.folder / "secret"
    secret.touch(mode=0o600)
    secret.write_text(secrets.token_hex())
    with socket.create_server(("127.0.0.1", 0)) as free:
        endpoint = f"127.0.0.1:{free.getsockname()[1]}"
    job = start_job(runner, "--nnodes", str(nodes + 1), "--rdzv-backend", "c10d",
                    "--rdzv-endpoint", endpoint, "--rdzv-id", "fleet", "--secret-file", secret,
                    "--preflight", "off", *options, "--no-python", *FOREVER)
    digest = hashlib.sha256("\0".join(FOREVER).encode()).hexdigest()
    job.simulation = subprocess.Popen(
        [BUILD / "test-helpers/simulated_agents", endpoint, "fleet", secret, digest, str(nodes),
         str(workers), str(laggard)], env=runner.environment, start_new_session=True)
    runner.started.append(job.simulation)
    wait_for(lambda: job.process.poll() is not None or job.records(GROUP_FORMED), 120, "the group")
    assert job.process.poll() is None, job.err()
    return job
