"""MLflow: an earlier run instead of a new one from MlflowClient.create_run(), which
mlflow.start_run() calls unless it gets a run's id; incidents are tags.

Nested runs are left alone: they are a search's. MLflow refuses another value for a parameter that a
run has already; as scripts log parameters at every start, a continued run keeps the first value.
"""

import functools

from . import hooks

_PARENT, _NAME, _NOTE = "mlflow.parentRunId", "mlflow.runName", "mlflow.note.content"


def install(module, book):
    client = module.MlflowClient
    original = client.create_run
    continued = set()  # ids

    @functools.wraps(original)
    def create_run(self, experiment_id, start_time=None, tags=None, run_name=None):
        tags = tags or {}
        if _PARENT in tags:
            return original(self, experiment_id, start_time, tags, run_name)
        labels = [self.tracking_uri, experiment_id]
        name = run_name or tags.get(_NAME)
        run = hooks.guarded("mlflow", lambda: _earlier_run(self, book, labels, name, tags))
        if run is None:
            run = original(self, experiment_id, start_time, tags, run_name)
        else:
            continued.add(run.info.run_id)
        hooks.guarded("mlflow", lambda: _note(self, book, labels, name, run.info.run_id))
        return run

    client.create_run = create_run
    _keep_parameters(client, continued)


def _earlier_run(client, book, labels, name, tags):
    identity = book.claim("mlflow", labels, name)
    if identity is None:
        return None
    run = client.get_run(identity)
    if run.info.lifecycle_stage != "active":
        hooks.say("mlflow run %s was deleted, another one is created" % identity)
        return None
    client.update_run(identity, status="RUNNING")
    for key, value in tags.items():
        if key == _NOTE or not key.startswith("mlflow."):
            client.set_tag(identity, key, value)
    return client.get_run(identity)


def _note(client, book, labels, name, identity):
    if book.continues("mlflow", identity):
        hooks.say("mlflow run %s is continued" % identity)
    book.note("mlflow", labels, name, identity,
              lambda: client.get_run(identity).info.status == "FINISHED")
    for number, text in book.incidents("mlflow"):
        client.set_tag(identity, "robustrun.incident.%d" % number, text)


def _keep_parameters(client, continued):
    log_param, log_batch = client.log_param, client.log_batch

    @functools.wraps(log_param)
    def keep_param(self, run_id, key, value, *args, **kwargs):
        try:
            return log_param(self, run_id, key, value, *args, **kwargs)
        except Exception as error:
            if run_id not in continued or not _is_change(error):
                raise
            hooks.say("mlflow keeps the first value of the parameter %s" % key)
            return value

    @functools.wraps(log_batch)
    def keep_params(self, run_id, metrics=(), params=(), *args, **kwargs):
        try:
            return log_batch(self, run_id, metrics, params, *args, **kwargs)
        except Exception as error:
            if run_id not in continued or not _is_change(error):
                raise
            has = self.get_run(run_id).data.params
            kept = [p for p in params if has.get(p.key, str(p.value)) == str(p.value)]
            names = ", ".join(sorted(p.key for p in params if p not in kept))
            hooks.say("mlflow keeps the first values of the parameters %s" % names[:300])
            return log_batch(self, run_id, metrics, kept, *args, **kwargs)

    client.log_param, client.log_batch = keep_param, keep_params


def _is_change(error):
    return "Changing param values is not allowed" in str(error)
