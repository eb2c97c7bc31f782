"""configs/grafana and configs/prometheus with a real Prometheus that scrapes a real run."""

import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest
from helpers.processes import wait_for
from helpers.runner import ROOT

DASHBOARD = ROOT / "configs/grafana/robustrun.json"
RULES = ROOT / "configs/prometheus/robustrun.yml"
SCRIPT = r"""
import os, time
import robustrun
attempt, rank, n = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), os.environ["RANK"], 0
while not os.path.exists("enough"):
    n += 1
    robustrun.step(n, loss=1 / n, grad_norm=0.5)
    if rank == "1" and attempt == 0 and os.path.exists("fail"):
        raise SystemExit(3)
    time.sleep(0.05)
"""
# Known only after an hour, or with NCCL.
ABSENT = {"robustrun_effective_training_time_hour_ratio",
          "robustrun_collective_bus_bytes_per_second"}
needs_prometheus = pytest.mark.skipif(
    not shutil.which("prometheus") or not shutil.which("promtool"),
    reason="no Prometheus; on Debian: apt-get install prometheus")


def dashboard():
    return json.loads(DASHBOARD.read_text())


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Prometheus:
    def __init__(self, folder, targets):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = folder / "prometheus.log"
        settings = folder / "prometheus.json"  # JSON is YAML
        settings.write_text(json.dumps({
            "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "runs", "static_configs": [{"targets": targets}]}]}))
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                ["prometheus", f"--config.file={settings}", f"--storage.tsdb.path={folder}/tsdb",
                 f"--web.listen-address={self.url.removeprefix('http://')}"],
                stdout=log, stderr=subprocess.STDOUT)
        wait_for(self._is_ready, 60, f"Prometheus ({self.log})")

    def _is_ready(self):
        assert self._process.poll() is None, self.log.read_text()
        try:
            return urllib.request.urlopen(self.url + "/-/ready", timeout=10).status == 200
        except OSError:
            return False

    def get(self, path, **query):
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{query}: {refused.read().decode()}") from None

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def close(self):
        self._process.terminate()
        self._process.wait(60)


def expressions(run_id):
    """(title, expression) of every query of the dashboard."""
    page = dashboard()
    found = [(panel["title"], target["expr"]) for panel in page["panels"]
             for target in panel["targets"]]
    found += [(one["name"], one["expr"]) for one in page["annotations"]["list"]]
    return [(title, expression.replace("$run_id", run_id)) for title, expression in found]


@needs_prometheus
def test_every_query_of_the_dashboard_and_every_rule_works_on_a_real_run(robustrun):
    robustrun.write("job.py", SCRIPT)
    port = free_port()
    run = robustrun.start(f"--metrics-port={port}", "--nproc-per-node=2", "job.py")
    prometheus = Prometheus(robustrun.folder, [f"127.0.0.1:{port}"])
    try:
        wait_for(lambda: prometheus.query("robustrun_steps_total > 3"), 60, "steps")
        (robustrun.folder / "fail").touch()
        again = 'robustrun_restarts_total{cause="worker_failed"} == 1 and on () ' \
                "robustrun_attempt_steps > 3"
        wait_for(lambda: prometheus.query(again), 120, "a restart")
        run_id = robustrun.newest_run().name
        runs = prometheus.get("label/run_id/values", **{"match[]": "robustrun_run_info"})
        assert runs == [run_id]
        queries = [one for one in expressions(run_id) if not any(name in one[1] for name in ABSENT)]
        # The rate is known only some time after the restart.
        wait_for(lambda: all(prometheus.query(expression) for _, expression in queries), 60,
                 "data for every panel")
        state = prometheus.query(dict(expressions(run_id))["State"])
        assert [one["metric"]["state"] for one in state] == ["running"]
        groups = prometheus.get("rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert len(rules) == RULES.read_text().count("- alert:")
        wait_for(lambda: all(rule["health"] == "ok" for group in prometheus.get("rules")["groups"]
                             for rule in group["rules"]), 30, "rules")
        firing = [rule["name"] for group in prometheus.get("rules")["groups"]
                  for rule in group["rules"] if rule["state"] == "firing"]
        assert firing == []
    finally:
        prometheus.close()
        (robustrun.folder / "enough").touch()
    assert run.finish().code == 0


def series(name, values, **labels):
    pairs = ",".join(f'{key}="{value}"' for key, value in {"run_id": "r1", **labels}.items())
    return {"series": f"robustrun_{name}{{{pairs}}}", "values": values}


RUNNING = [series("run_state", "1x600", state="running"), series("run_state", "0x600",
                                                                 state="finished")]
FINISHED = [series("run_state", "0x600", state="running"), series("run_state", "1x600",
                                                                  state="finished")]
# Minutes are the samples' interval; `fires` at minute 400 or not.
CASES = [
    ("RobustrunNoStep", [*RUNNING, series("last_step_age_seconds", "0+60x600")], True),
    ("RobustrunNoStep", [*RUNNING, series("last_step_age_seconds", "600x600")], False),
    ("RobustrunNoStep", [*FINISHED, series("last_step_age_seconds", "0+60x600")], False),
    ("RobustrunFailed", [series("run_exit_code", "95x600")], True),
    ("RobustrunFailed", [series("run_exit_code", "0x600")], False),
    ("RobustrunFailed", [series("run_exit_code", "143x600")], False),
    ("RobustrunSilent", [*RUNNING, series("run_start_time_seconds", "0x600"),
                         series("run_duration_seconds", "0+60x100 6000x500")], True),
    ("RobustrunSilent", [*RUNNING, series("run_start_time_seconds", "0x600"),
                         series("run_duration_seconds", "0+60x600")], False),
    ("RobustrunSilent", [*FINISHED, series("run_start_time_seconds", "0x600"),
                         series("run_duration_seconds", "0+60x100 6000x500")], False),
    ("RobustrunRestartsOften", [series("restarts_total", "0+1x600", cause="worker_failed")], True),
    ("RobustrunRestartsOften", [series("restarts_total", "0x300 1x300", cause="worker_failed"),
                                series("restarts_total", "0x300 2x300", cause="agent_lost")],
     False),
    ("RobustrunUnproductive", [series("effective_training_time_hour_ratio", "0.5x600")], True),
    ("RobustrunUnproductive", [series("effective_training_time_hour_ratio", "0.97x600")], False),
    ("RobustrunSlow", [series("steps_per_second", "10x370 7x230")], True),
    ("RobustrunSlow", [series("steps_per_second", "10x370 9x230")], False),
    ("RobustrunNodeLost", [series("nodes", "2x600", state="lost")], True),
    ("RobustrunNodeLost", [series("nodes", "0x600", state="lost"),
                           series("nodes", "4x600", state="joined")], False),
]


@needs_prometheus
def test_each_alert_fires_when_it_should_and_only_then(tmp_path):
    assert {alert for alert, _, fires in CASES if fires} == \
        {line.split(":")[1].strip() for line in RULES.read_text().splitlines() if "alert:" in line}
    query = "count(ALERTS{{alertname=\"{}\",alertstate=\"firing\"}}) or vector(0)"
    (tmp_path / "rules.json").write_text(json.dumps({
        "rule_files": [str(RULES)], "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "name": f"{alert}, {number}", "input_series": given,
                   "promql_expr_test": [{"expr": query.format(alert), "eval_time": "400m",
                                         "exp_samples": [{"labels": "{}", "value": int(fires)}]}]}
                  for number, (alert, given, fires) in enumerate(CASES)]}))
    checked = subprocess.run(["promtool", "test", "rules", str(tmp_path / "rules.json")],
                             capture_output=True, text=True, timeout=120)
    assert checked.returncode == 0, checked.stdout + checked.stderr


# In JSON an enum is its text. Annotations of Prometheus have members of their own.
SCHEMA = """
import type { AnnotationQuery, Dashboard } from '@grafana/schema';
type Json<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
type Annotation = AnnotationQuery & { expr?: string; titleFormat?: string; step?: string };
type Whole = Omit<Dashboard, 'annotations'> & { annotations?: { list?: Annotation[] } };
export const dashboard: Json<Whole> = PAGE;
"""


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("npm"), reason="no npm")
def test_the_dashboard_fits_the_schema_of_grafana(tmp_path):
    subprocess.run(["npm", "install", "--silent", "--prefix", str(tmp_path),
                    "@grafana/schema@13.2.3", "typescript@6"], check=True, timeout=600)

    def complaints(page):
        (tmp_path / "check.ts").write_text(SCHEMA.replace("PAGE", json.dumps(page)))
        return subprocess.run(
            ["node_modules/.bin/tsc", "--noEmit", "--skipLibCheck", "--strict", "--target",
             "es2022", "--module", "nodenext", "--moduleResolution", "nodenext", "check.ts"],
            cwd=tmp_path, capture_output=True, text=True, timeout=600).stdout

    assert complaints(dashboard()) == ""
    wrong = dashboard()
    wrong["panels"][0]["gridPoz"] = wrong["panels"][0].pop("gridPos")
    assert "gridPoz" in complaints(wrong)
