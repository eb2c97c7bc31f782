"""Asks Hugging Face accelerate what `accelerate launch --config_file FILE` would set for workers.

    python accelerate.py FILE WORKERS     WORKERS: on this machine; 0: as many as the file says

Run by the command line with the workers' interpreter, before anything starts
(cli/plan/accelerate.h). accelerate itself computes the variables, with its launchers replaced by
functions that only look, so that each version gives its own. Machines and their number stay out:
accelerate is told that there is one.

Prints records, each ended by a zero byte: `error TEXT`, `warning TEXT`, `KEY VALUE` for the numbers
and addresses in the file, `set NAME=VALUE` for each variable that the workers get. Exit code 0
unless accelerate cannot be asked at all.
"""

import os
import sys

PLACES = ("num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port")
# What the run decides on its own, from PLACES among others.
OWN = ("MASTER_ADDR", "MASTER_PORT")
# Old names that accelerate still reads.
OLD_KEYS = ("fp16", "dynamo_backend")


class Refused(Exception):
    pass


class Taken(BaseException):
    """Carries the environment out of accelerate's launcher."""


def private_output():
    """Standard output for our records alone: what packages print goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def read_config(path):
    """The file's content, and for each of its keys, as "key" or "section.key", its line."""
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        # JSON, accelerate's other format, is YAML as well.
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        config = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise Refused(f"{path}:{mark.line + 1 if mark else 1}: {why}") from None
    if not isinstance(config, dict):
        raise Refused(f"{path}:1: expected keys and values, as `accelerate config` writes them")
    lines = {}
    for key, value in tree.value:
        lines[key.value] = key.start_mark.line + 1
        if isinstance(value, yaml.MappingNode):
            for inner, _ in value.value:
                lines[f"{key.value}.{inner.value}"] = inner.start_mark.line + 1
    return config, lines


def unknown_keys(config, parser, fields):
    """Takes the keys that accelerate would refuse out of `config`; returns these and those of its
    sections that it would ignore."""
    options = {action.dest for action in parser._actions}
    prefixes = {"fsdp_config": "fsdp_", "dynamo_config": "dynamo_"}
    found = []
    for key in list(config):
        if key not in fields and key not in OLD_KEYS:
            found.append(str(key))
            del config[key]
        elif isinstance(config[key], dict) and key != "fp8_config":  # of that one it takes all
            prefix = prefixes.get(key, "")
            for inner in map(str, config[key]):
                if (inner if inner.startswith(prefix) else prefix + inner) not in options:
                    found.append(f"{key}.{inner}")
    return found


def replace_launchers(launch):
    """Makes accelerate's launchers raise Taken with the environment they would give workers."""
    import torch.distributed.run

    def take_own(args):
        raise Taken(dict(os.environ))

    def take_simple(args):
        args.mpirun_hostfile = None  # we take its place
        raise Taken(launch.prepare_simple_launcher_cmd_env(args)[1])

    def refuse(*args):
        raise Refused("robustrun starts no TPU and SageMaker jobs")

    torch.distributed.run.run = take_own
    launch.simple_launcher = take_simple
    for name in ("tpu_launcher", "tpu_pod_launcher", "sagemaker_launcher"):
        setattr(launch, name, refuse)


def environment_of(launch, parser, path, config, workers):
    """What accelerate sets for a config whose unknown keys have been taken out."""
    import tempfile

    import yaml

    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        yaml.safe_dump(config, file, sort_keys=False)  # it lists a section's keys
        file.flush()
        # With port 0 it never looks whether its default one is free.
        words = ["--config_file", file.name, "--num_machines", "1", "--main_process_port", "0"]
        words += ["--num_processes", str(workers), "script"]
        try:
            launch.launch_command(parser.parse_args(words))
        except Taken as taken:
            return taken.args[0]
        except Refused as error:
            raise Refused(f"{path}: {error}") from None
        except (Exception, SystemExit) as error:
            why = " ".join(str(error).replace(file.name, path).split()) or type(error).__name__
            raise Refused(f"{path}: {why}") from None
    raise Refused(f"{path}: accelerate starts no workers for it")


def number(config, key, path, lines):
    value = config.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused(f"{path}:{lines[key]}: {key} must be a number")
    return max(value, 0)


def answer(path, wanted, tell):
    before = dict(os.environ)
    try:
        config, lines = read_config(path)
        import accelerate
        from accelerate.commands import launch
        from accelerate.commands.config.config_args import ClusterConfig
    except ImportError as error:
        raise Refused(f"cannot use {path}: {sys.executable} has no accelerate ({error}); install "
                      "it there, or choose another interpreter with PYTHON_EXEC") from None
    parser = launch.launch_command_parser()
    unknown = unknown_keys(config, parser, set(ClusterConfig.__dataclass_fields__))
    if unknown:
        named = ", ".join(f"{key} (line {lines.get(key, 1)})" for key in unknown)
        tell("warning", f"{path}: accelerate {accelerate.__version__} does not know {named}; "
                        "ignored")
    machines = max(number(config, "num_machines", path, lines), 1)
    processes = number(config, "num_processes", path, lines)
    for key in PLACES:
        if config.get(key) is not None:
            tell(key, config[key])
    replace_launchers(launch)
    workers = wanted or max(processes // machines, 1)
    after = environment_of(launch, parser, path, config, workers)
    for name, value in after.items():
        if before.get(name) != value and name not in OWN:
            tell("set", f"{name}={value}")


def main():
    del sys.path[0]  # modules beside this one are not for accelerate
    out = private_output()

    def tell(kind, value):
        out.write(f"{kind} {value}".encode(errors="surrogateescape") + b"\0")

    try:
        answer(sys.argv[1], int(sys.argv[2]), tell)
    except Refused as error:
        tell("error", error)
    out.close()


if __name__ == "__main__":
    main()
