"""`robustrun plan`: its output, what it refuses, and that a run follows it."""

import json
import re
import xml.etree.ElementTree

import pytest

# Names run across the pods, so that no usual order is a good one.
NETWORK = """[level.pod]
gbps = 100
[[switch]]
name = "pod0"
level = "pod"
switches = ["leaf[0-1]"]
[[switch]]
name = "pod1"
level = "pod"
switches = ["leaf[2-3]"]
[[switch]]
name = "leaf0"
nodes = ["n[1-3]"]
[[switch]]
name = "leaf1"
nodes = ["n[7-9]"]
[[switch]]
name = "leaf2"
nodes = ["n[4-6]"]
[[switch]]
name = "leaf3"
nodes = ["n[10-12]"]
"""
POD_OF = {f"n{i}": "pod0" if i in (1, 2, 3, 7, 8, 9) else "pod1" for i in range(1, 13)}
JOB = (
    "--topology=net.toml", "--hosts=n[1-12]", "--nnodes=8", "--spares=2", "--nproc-per-node=2",
    "--parallel=tp=2,pp=2",
)


@pytest.fixture
def planner(robustrun):
    robustrun.write("net.toml", NETWORK)
    return robustrun


def said(planner, *arguments):
    done = planner.run("plan", *arguments)
    assert done.code == 0, done.errors
    return done.text


def refused(planner, *arguments):
    done = planner.run("plan", *arguments)
    assert done.code == 2 and done.text == ""
    return done.errors


def test_the_plan_is_one_json_object(planner):
    plan = json.loads(said(planner, *JOB, "--json"))
    assert plan["parallel"] == {
        "tp": 2, "cp": 1, "ep": 1, "dp": 4, "pp": 2, "rank_order": "tp-cp-ep-dp-pp",
    }
    assert sum(plan["weights"].values()) == pytest.approx(1)
    assert [level["name"] for level in plan["topology"]["levels"]] == ["leaf", "pod"]
    nodes = plan["nodes"]
    assert [node["place"] for node in nodes] == list(range(8))
    assert [node["first_rank"] for node in nodes] == list(range(0, 16, 2))
    assert all(node["switches"][1] == POD_OF[node["name"]] for node in nodes)
    names = [node["name"] for node in nodes] + plan["spares"]
    assert len(set(names)) == 10
    # Both stages of each replica are in one pod; in natural order most are not.
    for first, second in zip(nodes[:4], nodes[4:], strict=True):
        assert POD_OF[first["name"]] == POD_OF[second["name"]]
    assert plan["cost"]["worst"] < plan["orders"]["natural"]["worst"]
    assert plan["bound"] <= plan["cost"]["worst"] + 1e-9
    assert plan["solve_us"] >= 0


def test_time_is_shown_where_traffic_and_bandwidths_are_known(planner):
    plan = json.loads(said(planner, *JOB, "--traffic=dp=100MB,pp=1GB", "--json"))
    seconds = plan["network_seconds"]
    assert 0 < seconds["ours"] < seconds["natural"]
    gain = 40 * (1 - seconds["ours"] / seconds["natural"])
    assert plan["gain_percent"] == pytest.approx(gain, abs=0.01)
    unknown = json.loads(said(planner, *JOB, "--json"))
    assert "network_seconds" not in unknown and "gain_percent" not in unknown


def test_the_text_fits_the_terminal_and_has_no_colours_for_a_pipe(planner):
    text = said(planner, *JOB)
    assert "\x1b" not in text
    assert all(len(line) <= 100 for line in text.splitlines())
    for word in ("net.toml", "natural order", "lexicographic", "bound", "pod0", "place  ranks"):
        assert word in text
    assert "\x1b[" in said(planner, *JOB, "--colour=always")


def test_the_picture_is_well_formed(planner):
    said(planner, *JOB, "--svg=plan.svg", "--colour-by=dp")
    root = xml.etree.ElementTree.parse(planner.folder / "plan.svg").getroot()
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 12
    assert sum("dp group" in title for title in titles) == 8
    assert sum(title.endswith(": spare") for title in titles) == 2


def test_every_node_has_its_reason(planner):
    plan = json.loads(said(planner, *JOB, "--json"))
    worker = plan["nodes"][3]["name"]
    text = said(planner, *JOB, f"--explain={worker}")
    assert text.startswith(f"{worker} has place 3 (ranks 6-7), below ")
    assert "pp group 3, 2 nodes" in text and "Alternatives:" in text
    assert said(planner, *JOB, f"--explain={plan['spares'][0]}").startswith(
        f"{plan['spares'][0]} is spare 1 of 2, below "
    )
    idle = set(POD_OF) - {node["name"] for node in plan["nodes"]} - set(plan["spares"])
    for name in idle:
        assert said(planner, *JOB, f"--explain={name}").startswith(f"{name} is not used, below ")


@pytest.mark.parametrize(
    "arguments, line",
    [
        (
            ["--hosts=n[1-4],m3"],
            "cannot find host 'm3' in net.toml (did you mean 'n3'?); add it there, or leave the "
            "topology out",
        ),
        (
            ["--hosts=n[1-4]", "--nproc-per-node=3", "--parallel=tp=8"],
            "cannot divide 12 ranks by tp=8,cp=1,pp=1: not a multiple of 8; change the sizes or "
            "the number of nodes",
        ),
        (
            ["--hosts=n[1-4]", "--parallel=xp=8"],
            "cannot use --parallel=xp=8: 'xp=8': a size is KIND=NUMBER, and the kinds are tp, cp, "
            "ep, dp and pp, as in tp=8,pp=4,dp=auto",
        ),
        (
            ["--hosts=n[1-4]", "--affinity=2"],
            "cannot use --affinity=2: it must be a number from 0 to 1",
        ),
        (
            ["--hosts=n[1-4]", "--explain=n44"],
            "cannot use --explain=n44: it is not among the hosts (did you mean n4?)",
        ),
        (
            ["--hosts=n[1-4]", "--colour-by=tp"],
            "cannot show tp groups: none of them spans nodes",
        ),
        (
            [],
            "cannot plan: no hosts are named; add --hosts=LIST or --hostfile=FILE, or call it "
            "within a Slurm allocation",
        ),
    ],
)
def test_impossible_plans_are_refused(planner, arguments, line):
    assert refused(planner, "--topology=net.toml", *arguments) == f"robustrun: {line}\n"


def test_a_picture_that_cannot_be_written_is_an_error(planner):
    error = refused(planner, *JOB, "--svg=missing/plan.svg")
    assert error.startswith("robustrun: cannot use --svg=missing/plan.svg: ")
    assert len(error.splitlines()) == 1


def test_a_cluster_in_circles_is_refused(planner):
    planner.write(
        "net.toml",
        '[[switch]]\nname = "a"\nswitches = ["b"]\n\n[[switch]]\nname = "b"\nswitches = ["a"]\n',
    )
    error = refused(planner, "--topology=net.toml", "--hosts=n[1-2]")
    assert re.match(r"robustrun: cannot use net\.toml, line \d+: ", error), error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("subcommand", ["run", "check", "submit"])
def test_other_subcommands_refuse_the_options_of_plan(planner, subcommand):
    planner.write("t.py", "")
    done = planner.run(subcommand, "--svg=a.svg", "t.py")
    assert done.code == 2 and "--svg: only for robustrun plan" in done.errors


def test_without_a_topology_the_hosts_keep_their_order(planner):
    plan = json.loads(said(planner, "--hosts=n[1-12]", "--json"))
    assert [node["name"] for node in plan["nodes"]] == [f"n{i}" for i in range(1, 13)]
    assert plan["cost"] == {"worst": 0, "mean": 0}


PLACES = """
import os
line = " ".join(os.environ[name] for name in ("RANK", "GROUP_RANK", "LOCAL_RANK"))
with open(f"rank-{os.environ['RANK']}", "w") as file:
    file.write(line)
"""


def run_job(planner, *arguments):
    planner.write("places.py", PLACES)
    job = planner.run(
        "--launcher=processes", "--preflight=off", "--run-dir=run", *arguments, "places.py"
    )
    assert job.code == 0, job.errors
    return job.errors


def table_of(log):
    return dict(re.findall(r"node (\d+) +(n\d+) .*rank", log))


def test_a_run_follows_the_plan(planner):
    options = ("--topology=net.toml", "--hosts=n[1-2,4-5]", "--nproc-per-node=2",
               "--parallel=tp=2,dp=2,pp=2")
    plan = json.loads(said(planner, *options, "--json"))
    order = [node["name"] for node in plan["nodes"]]
    assert order != ["n1", "n2", "n4", "n5"], "else natural order would pass, too"
    log = run_job(planner, *options)
    assert table_of(log) == {str(place): name for place, name in enumerate(order)}
    assert "4 of 4 nodes are placed by net.toml: " in log and "in natural order)" in log
    for rank in range(8):
        said_by_rank = (planner.folder / f"rank-{rank}").read_text().split()
        assert said_by_rank == [str(rank), str(rank // 2), str(rank % 2)]


def test_rank_0_is_where_the_user_wants_it(planner):
    log = run_job(planner, "--topology=net.toml", "--hosts=n[1-2,4-5]", "--parallel=pp=2",
                  "--rank0=n5")
    order = table_of(log)
    assert order["0"] == "n5"
    assert POD_OF[order["0"]] == POD_OF[order["2"]], "its group is whole all the same"


def test_the_options_also_work_in_place_of_torchrun(planner):
    log = run_job(planner, "--compat=torchrun", "--log-level=info", "--topology=net.toml",
                  "--hosts=n[1-2,4-5]", "--nproc-per-node=2", "--parallel=tp=2,dp=2,pp=2")
    order = table_of(log)
    assert POD_OF[order["0"]] == POD_OF[order["2"]]
