"""Bad numbers of a training are reported on the console, in the report and among the events."""

import json

# Reports a loss, or prints it, and becomes NaN.
REPORTING = """
import robustrun, time
for step in range(90):
    loss = 2 + 0.01 * (step % 7) if step < 40 else float("nan") if step < 60 else 1.9 + step / 1e3
    REPORT
    time.sleep(0.12)
"""


def alarms_of(robustrun):
    return [(a["metric"], a["kind"], a["over"]) for a in robustrun.report()["alarms"]]


def test_a_loss_that_is_not_a_number_is_reported_everywhere_and_nothing_is_stopped(robustrun):
    robustrun.write("job.py", REPORTING.replace("REPORT", "robustrun.step(step, loss=loss)"))
    finished = robustrun.run("--events=events", "job.py")
    assert finished.code == 0, finished.errors
    assert "loss is not a number: nan, 3 readings in a row, usual 2.0" in finished.errors
    assert "likely: NaN value" in finished.errors
    assert "loss is a number again" in finished.errors
    assert alarms_of(robustrun) == [("loss", "not a number", False), ("loss", "not a number", True)]
    assert robustrun.report()["incidents"] == []
    events = [json.loads(line) for line in (robustrun.folder / "events").read_text().splitlines()]
    said = [event["text"] for event in events if event.get("rule") == "metric_alarm"]
    assert len(said) == 2 and said[0].startswith("loss is not a number")


def test_numbers_are_read_from_the_output_of_an_unmodified_script(robustrun):
    line = "print(f'iteration {step} | lm loss: {loss:.4f} | ok', flush=True)"
    script = REPORTING.replace("import robustrun, time", "import time").replace("REPORT", line)
    robustrun.write("job.py", script)
    finished = robustrun.run("--line-metrics=loss=iteration *| lm loss: {value} |", "job.py")
    assert finished.code == 0, finished.errors
    assert alarms_of(robustrun) == [("loss", "not a number", False), ("loss", "not a number", True)]
    metrics = {metric["name"]: metric["value"] for metric in robustrun.report()["metrics"]}
    assert metrics["loss"] > 1.9


# What Megatron-LM prints, on the last of two ranks.
MEGATRON = """
import os, time
rank = int(os.environ["RANK"])
print("loading", flush=True)
for step in range(1, 40):
    if rank == 1:
        print(f" [2026-08-22 15:22:22.123456] iteration {step:8d}/{500:8d} | consumed samples: "
              f"{step * 8:12d} | elapsed time per iteration (ms): 50.0 | learning rate: "
              f"{1e-4:.6E} | global batch size: {8:5d} | lm loss: {9 / step:.6E} | loss scale: 1.0 "
              f"| grad norm: {1 / step:.3f} | number of skipped iterations: {0:3d} |", flush=True)
    time.sleep(0.05)
"""


def test_the_log_lines_of_a_known_project_are_recognised_on_the_last_rank(robustrun):
    robustrun.write("pretrain.py", MEGATRON)
    finished = robustrun.run("--line-metrics=auto", "--nproc-per-node=2", "pretrain.py")
    assert finished.code == 0, finished.errors
    assert finished.errors.count("--line-metrics: reading Megatron-LM's numbers") == 1
    metrics = {metric["name"]: metric["value"] for metric in robustrun.report()["metrics"]}
    assert metrics == {"step": 39, "steps_total": 500, "loss": 0.2307692, "grad_norm": 0.026,
                       "step_time": 0.05}


def test_output_without_a_number_is_told_once(robustrun):
    robustrun.write("job.py", """
import time
for step in range(150):
    print("nothing to see", step, flush=True)
    time.sleep(0.03)
""")
    finished = robustrun.run("--line-metrics=auto", "job.py")
    assert finished.code == 0, finished.errors
    assert finished.errors.count("--line-metrics has found no number yet in ") == 1


def test_a_healthy_training_is_silent(robustrun):
    robustrun.write("job.py", """
import robustrun, time
for step in range(60):
    robustrun.step(step, loss=11 / (1 + step / 5), grad_norm=1 + 30 / (1 + step))
    time.sleep(1 if step % 20 == 19 else 0.06)
""")
    finished = robustrun.run("job.py")
    assert finished.code == 0, finished.errors
    assert alarms_of(robustrun) == []


def test_a_wrong_pattern_is_refused(robustrun):
    robustrun.write("job.py", "")
    finished = robustrun.run("--line-metrics=loss=lm loss", "job.py")
    assert finished.code == 2
    assert "it lacks {value}" in finished.errors
