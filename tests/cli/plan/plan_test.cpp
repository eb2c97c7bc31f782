#include "cli/plan/plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>

#include "tests/cli/fakes.h"
#include "wire/messages/field_codec.h"

namespace robustrun::cli::plan_test {

using supervisor::ConsoleStyle;
using testing::World;
using wire::StreamRoute;

namespace {

base::Result<RunPlan> plan(const World& world, const std::vector<std::string>& argv) {
  return plan_run(world.merge(argv).value(), argv, world.around);
}

std::string error_of(const World& world, const std::vector<std::string>& argv) {
  const auto made = plan(world, argv);
  return made ? "no error" : made.error().what;
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::ranges::find(texts, text) != texts.end();
}

}  // namespace

TEST_CASE("a plain native run") {
  World world;
  const auto made = plan(world, {"--nproc-per-node=2", "train.py", "--lr", "3", "--api-key", "k"});
  REQUIRE(made.has_value());
  const auto& [spec, workers] = std::tie(made->request.spec, made->request.workers);
  CHECK(spec.program == "train.py");
  CHECK(spec.command == std::vector<std::string>{"--nproc-per-node=2", "train.py", "--lr", "3",
                                                 "--api-key", "***"});
  REQUIRE(spec.nodes.size() == 1);
  CHECK(spec.nodes[0].name == "node7");
  CHECK(spec.nodes[0].slots == 2);
  CHECK(spec.master_port == 0);
  CHECK_FALSE(spec.compat);
  CHECK(spec.restart.max_restarts == 3);
  CHECK(spec.restart.window == std::chrono::hours(1));
  CHECK(spec.restart.crash_loop_stop);
  CHECK(spec.deadlines.shutdown_grace == std::chrono::seconds(30));
  CHECK_FALSE(spec.time_limit.has_value());
  CHECK(spec.log_directory == made->places.run_directory + "/logs");
  CHECK(workers.interpreter == "/usr/bin/python3");
  CHECK(workers.arguments == std::vector<std::string>{"--lr", "3", "--api-key", "k"});
  CHECK(workers.python_path == "/opt/rr/share/robustrun/python");
  CHECK(workers.working_directory == "/job");
  CHECK(workers.run_id == spec.run_id);
  CHECK(workers.max_restarts == 3);
  CHECK(workers.omp == "auto");
  CHECK(workers.stack_signal == static_cast<unsigned>(SIGRTMIN + 8));
  CHECK_FALSE(workers.stdin_rank.has_value());
  CHECK(workers.signals_to_handle == "SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  CHECK(made->request.routes.size() == 2);
  CHECK(made->request.end_signals == std::vector<int>{SIGTERM, SIGINT, SIGHUP, SIGQUIT});
  CHECK(made->request.forwarded_signals == std::vector<int>{SIGUSR1, SIGUSR2});
  CHECK(made->request.print_report);
  CHECK(made->warnings.empty());
}

TEST_CASE("globs of checkpoints reach the workers' nodes; others are refused by name") {
  World world;
  const auto made = plan(world, {"--checkpoints=out/checkpoint-*,/a,,b/*.ckpt", "train.py"});
  REQUIRE(made.has_value());
  CHECK(made->request.workers.checkpoint_globs ==
        std::vector<std::string>{"out/checkpoint-*", "/a,b/*.ckpt"});
  CHECK(plan(world, {"train.py"})->request.workers.checkpoint_globs.empty());
  CHECK(error_of(world, {"--checkpoints=out/**/a", "train.py"}).find("'out/**/a': **") !=
        std::string::npos);
  std::string many = "--checkpoints=a";
  for (int i = 0; i < 16; ++i) many += ",b" + std::to_string(i);
  CHECK(error_of(world, {many, "train.py"}).find("more than 16 patterns") != std::string::npos);
}

TEST_CASE("workers have a memory policy only on request") {
  World world;
  CHECK(plan(world, {"--numa-memory=off", "train.py"})->request.workers.numa_memory.empty());
  CHECK(plan(world, {"train.py"})->request.workers.numa_memory.empty());
  CHECK(plan(world, {"--numa-memory=bind", "train.py"})->request.workers.numa_memory == "bind");
}

TEST_CASE("standby workers are kept in native mode, as --standby says") {
  World world;
  using wire::StandbyMode;
  CHECK(plan(world, {"train.py"})->request.workers.standby == StandbyMode::kAll);
  CHECK(plan(world, {"--standby=off", "train.py"})->request.workers.standby == StandbyMode::kOff);
  const auto of_spares = plan(world, {"--standby=spares", "train.py"});
  CHECK(of_spares->request.workers.standby == StandbyMode::kSpares);
  CHECK(of_spares->request.workers.tell_modules);
  CHECK_FALSE(plan(world, {"--standby=off", "train.py"})->request.workers.tell_modules);
  CHECK(plan(world, {"--compat=torchrun", "train.py"})->request.workers.standby ==
        StandbyMode::kOff);
}

TEST_CASE("a detached run has its console in its directory, and no terminal") {
  World world;
  const auto made = plan(world, {"--detach", "--nproc-per-node=2", "train.py"});
  REQUIRE(made.has_value());
  CHECK(made->request.console_log == made->request.run_directory + "/console.log");
  CHECK(made->request.console.prefix == ConsoleStyle::Prefix::kRank);
  CHECK(made->request.network.lease.orphan_grace == std::chrono::minutes(10));
  const auto compat = plan(world, {"--detach", "--compat=torchrun", "train.py"});
  REQUIRE(compat.has_value());
  for (const auto& routes : compat->request.routes) CHECK(routes.out != StreamRoute::kInherit);
  const auto foreground = plan(world, {"train.py"});
  CHECK(foreground->request.console_log.empty());
}

TEST_CASE("options that a detached run cannot have are refused") {
  World world;
  CHECK(error_of(world, {"--detach", "--stdin=0", "train.py"}).find("standard input") !=
        std::string::npos);
  CHECK(error_of(world,
                 {"--detach", "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=10.0.0.7:29500",
                  "--rdzv-id=j", "--insecure-rdzv", "train.py"})
            .find("--hosts") != std::string::npos);
}

TEST_CASE("a plain run with torchrun's behaviour") {
  World world;
  world.around.environment.push_back("TORCHELASTIC_ERROR_FILE=/outer/error.json");
  const auto made = plan(world, {"--compat=torchrun", "train.py"});
  REQUIRE(made.has_value());
  const auto& [spec, workers] = std::tie(made->request.spec, made->request.workers);
  CHECK(spec.compat);
  CHECK(spec.restart.max_restarts == 0);
  CHECK_FALSE(spec.restart.crash_loop_stop);
  CHECK(spec.restart.window > std::chrono::hours(24 * 365));
  CHECK(spec.restart.backoff_max == base::Nanos::zero());
  CHECK(workers.compat);
  CHECK(workers.python_path.empty());
  CHECK(workers.stack_signal == 0);
  CHECK(workers.omp == "torchrun");
  CHECK(workers.run_id.size() == 36);
  CHECK(spec.run_id != workers.run_id);
  CHECK(made->request.routes[0].out == StreamRoute::kInherit);
  CHECK(made->request.forwarded_signals.empty());
  CHECK_FALSE(made->request.print_report);
  CHECK(made->request.nested_error_file == "/outer/error.json");
}

TEST_CASE("workers get the caller's environment without our internal variables") {
  World world;
  world.around.environment = {
      "PATH=/usr/bin", "ROBUSTRUN_RECORD=/r", "ROBUSTRUN_LOG_LEVEL=warn", "RANK=3", "odd",
      "X=\xff",        "ROBUSTRUN_SOCKET=/s", "ROBUSTRUN_MINE=1"};
  const auto made = plan(world, {"train.py"});
  REQUIRE(made.has_value());
  CHECK(made->request.workers.environment ==
        std::vector<std::string>{"PATH=/usr/bin", "ROBUSTRUN_LOG_LEVEL=warn", "RANK=3", "odd",
                                 "X=\xff", "ROBUSTRUN_MINE=1"});
}

TEST_CASE("prefixes of lines") {
  World world;
  const auto prefix = [&](std::vector<std::string> argv) {
    argv.push_back("train.py");
    return plan(world, argv)->request.console;
  };
  CHECK(prefix({"--nproc-per-node=2"}).prefix == ConsoleStyle::Prefix::kNone);
  CHECK(prefix({"--line-prefix=on"}).prefix == ConsoleStyle::Prefix::kRank);
  world.around.stdout_is_terminal = true;
  CHECK(prefix({"--nproc-per-node=2"}).prefix == ConsoleStyle::Prefix::kRank);
  CHECK(prefix({}).prefix == ConsoleStyle::Prefix::kNone);
  CHECK(prefix({"--nproc-per-node=2", "--line-prefix=off"}).prefix == ConsoleStyle::Prefix::kNone);
  CHECK(prefix({"--tee=3"}).prefix_template == "[${role_name}${local_rank}]:");
  CHECK(prefix({"--tee=3", "--line-prefix=off"}).prefix == ConsoleStyle::Prefix::kNone);
  world.around.environment.push_back("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=<${rank}> ");
  CHECK(prefix({}).prefix == ConsoleStyle::Prefix::kTemplate);
  CHECK(prefix({"--tee=3"}).prefix_template == "<${rank}> ");
  CHECK(prefix({"--log-line-prefix-template=${hostname}: "}).prefix_template == "${hostname}: ");
  const auto made = plan(world, {"--log_line_prefix_template=x", "train.py"});
  REQUIRE(made);
  CHECK(made->request.workers.line_prefix_template == "x");
}

TEST_CASE("colour is for terminals, and NO_COLOR and TERM=dumb disable it") {
  World world;
  const auto colour = [&](std::vector<std::string> argv) {
    argv.push_back("s");
    return use_colour(world.merge(argv).value(), world.around, true);
  };
  CHECK(colour({}));
  CHECK_FALSE(colour({"--colour=never"}));
  world.around.environment.push_back("NO_COLOR=1");
  CHECK_FALSE(colour({}));
  CHECK(colour({"--color=always"}));
  world.around.environment.back() = "TERM=dumb";
  CHECK_FALSE(colour({}));
}

TEST_CASE("signals: unknown ones warn, an ignored SIGHUP stays ignored") {
  World world;
  auto made =
      plan(world, {"--signals-to-handle=SIGTERM, SIGUSR1,SIGNONE,SIGKILL,SIGTERM", "train.py"});
  REQUIRE(made.has_value());
  CHECK(made->request.end_signals == std::vector<int>{SIGTERM, SIGUSR1});
  CHECK(made->request.forwarded_signals == std::vector<int>{SIGUSR2});
  REQUIRE(made->warnings.size() == 2);
  CHECK(made->warnings[0].find("SIGNONE") != std::string::npos);
  CHECK(made->warnings[1].find("SIGKILL") != std::string::npos);
  world.around.environment = {"JOB_ID=7", "PE_HOSTFILE=/hosts"};
  made = plan(world, {"--standalone", "--signals-to-handle=SIGTERM,SIGUSR2", "train.py"});
  REQUIRE(made.has_value());
  CHECK(made->request.forwarded_signals.empty());
  CHECK(made->request.batch_signals.system == "Grid Engine");
  CHECK(made->request.batch_signals.warnings == std::vector<int>{SIGUSR1});
  world.around.environment.clear();
  world.around.hangup_ignored = true;
  for (const char* compat : {"native", "torchrun"}) {
    made = plan(world, {std::string("--compat=") + compat, "train.py"});
    CHECK(made->request.end_signals == std::vector<int>{SIGTERM, SIGINT, SIGQUIT});
  }
}

TEST_CASE("with static the node that leads has rank 0, also without --node-rank") {
  World world;
  const auto rank = [&](std::vector<std::string> argv) {
    argv.insert(argv.begin(), {"--nnodes=2", "--insecure-rdzv"});
    argv.emplace_back("train.py");
    const auto made = plan(world, argv);
    REQUIRE_MESSAGE(made.has_value(), made.error().what);
    // Another process here may lead already: then this one joins, with no more than the given rank.
    CHECK(made->nodes.meeting->node_rank.has_value() == (argv[2] == "--node-rank=1"));
    return made->request.spec.nodes.front().node_rank;
  };
  CHECK(rank({"--master-addr=10.0.0.7"}) == 0);
  CHECK(rank({"--rdzv-endpoint=node7:29500"}) == 0);
  CHECK_FALSE(rank({"--master-addr=node1"}).has_value());
  CHECK(rank({"--node-rank=1", "--master-addr=node1"}) == 1);
  CHECK_FALSE(rank({"--rdzv-backend=c10d", "--rdzv-endpoint=10.0.0.7:29400"}).has_value());
}

TEST_CASE("commands that meet are compared in native mode, as torchrun does not") {
  World world;
  const auto digest = [&](const std::string& mode, const std::string& argument) {
    const auto made = plan(world, {mode, "--nnodes=2", "--insecure-rdzv", "--rdzv-backend=c10d",
                                   "--rdzv-endpoint=10.0.0.7", "train.py", argument});
    REQUIRE_MESSAGE(made.has_value(), made.error().what);
    return made->request.network.command_digest;
  };
  CHECK(digest("--compat=torchrun", "--out=/a").empty());
  CHECK_FALSE(digest("--compat=native", "--out=/a").empty());
  CHECK(digest("--compat=native", "--out=/a") != digest("--compat=native", "--out=/b"));
}

TEST_CASE("the leader's own agent gets the address where the nodes meet first") {
  World world;
  const auto addresses = [&](std::vector<std::string> argv) {
    argv.insert(argv.begin(), {"--nnodes=2", "--insecure-rdzv", "--rdzv-backend=c10d"});
    argv.emplace_back("train.py");
    const auto made = plan(world, argv);
    REQUIRE_MESSAGE(made.has_value(), made.error().what);
    return made->request.network.first_addresses;
  };
  using Addresses = std::vector<std::string>;
  CHECK(addresses({"--rdzv-endpoint=alias7"}) == Addresses{"fd00::7", "10.0.0.7"});
  CHECK(addresses({"--rdzv-endpoint=alias7", "--local-addr=10.0.0.8"}) == Addresses{"10.0.0.8"});
  CHECK(addresses({"--rdzv-endpoint=127.0.0.1"}).empty());
}

TEST_CASE("limits and shutdown times arrive") {
  World world;
  const auto made = plan(world, {"--time-limit=15m", "--stop-after-steps=100",
                                 "--shutdown-timeout=5", "--restart-window=0", "train.py"});
  REQUIRE(made.has_value());
  CHECK(made->request.spec.time_limit == std::chrono::minutes(15));
  CHECK(made->request.spec.stop_after_steps == 100U);
  CHECK(made->request.spec.deadlines.shutdown_grace == std::chrono::seconds(5));
  CHECK(made->request.spec.restart.window > std::chrono::hours(24 * 365));
}

TEST_CASE("options that cannot be satisfied are errors of one line") {
  World world;
  struct Row {
    std::vector<std::string> argv;
    const char* error;
  };
  const std::vector<Row> rows = {
      {{"--logs-specs=mine", "train.py"}, "torchrun.logs_specs are Python plug-ins"},
      {{"--inject=off", "--stop-after-steps=1", "train.py"},
       "steps are counted by the boot module"},
      {{"--omp=many", "train.py"}, "cannot use --omp=many: it must be auto, torchrun, off or"},
      {{"--omp=0", "train.py"}, "cannot use --omp=0"},
      {{"--stdin=1", "train.py"}, "cannot use --stdin=1: the ranks are 0 to 0"},
      {{"--stack-signal=SIGUSR1", "train.py"}, "must be a real-time signal"},
      {{"--tee=9", "train.py"}, "cannot use --tee=9: 9 does not match: <^[0123]$>"},
      {{"--redirects=1:7", "train.py"}, "cannot use --redirects=1:7: 1:7 does not match"},
      {{"--local-ranks-filter=a", "train.py"}, "must be a comma-separated list of integers"},
      {{"--summary-json=/no/such/s.json", "train.py"}, "there is no directory /no/such"},
      {{"nosuch.py"}, "No such file or directory in /job"},
  };
  for (const Row& row : rows) {
    const std::string error = error_of(world, row.argv);
    CAPTURE(error);
    CHECK(error.find(row.error) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("torchrun's default of --logs-specs is accepted") {
  World world;
  CHECK(plan(world, {"--logs-specs=default", "train.py"}));
}

TEST_CASE("called as torch.distributed.launch, workers get --local-rank unless --use-env says no") {
  World world;
  world.around.program_name = "torch.distributed.launch";
  const auto made = plan(world, {"--nproc_per_node=2", "train.py", "--lr=1"});
  REQUIRE(made);
  CHECK(made->request.workers.arguments ==
        std::vector<std::string>{"--local-rank=${local_rank}", "--lr=1"});
  CHECK(made->request.spec.compat);
  for (const char* flag : {"--use-env", "--use_env"}) {
    const auto without = plan(world, {flag, "train.py", "--lr=1"});
    REQUIRE(without);
    CHECK(without->request.workers.arguments == std::vector<std::string>{"--lr=1"});
  }
  world.machine.executables.insert("/usr/bin/true");
  CHECK(error_of(world, {"--no-python", "true"}).find("you must also set the '--use-env' flag") !=
        std::string::npos);
  CHECK(plan(world, {"--no-python", "--use-env", "true"}));
  world.around.program_name = "robustrun";
  const auto ours = plan(world, {"--use-env", "train.py", "--lr=1"});
  REQUIRE(ours);
  CHECK(ours->request.workers.arguments == std::vector<std::string>{"--lr=1"});
}

TEST_CASE("our Python module must exist, unless --inject=off") {
  World world;
  world.machine.executables.insert("/usr/bin/true");
  world.machine.files.erase("/opt/rr/share/robustrun/python/robustrun/boot.py");
  CHECK(error_of(world, {"train.py"})
            .starts_with(
                "cannot find our Python module /opt/rr/share/robustrun/python/robustrun/boot.py"));
  CHECK(error_of(world, {"--inject=off", "train.py"}) == "no error");
  CHECK(error_of(world, {"--compat=torchrun", "train.py"}) == "no error");
  CHECK(error_of(world, {"--no-python", "true"}) == "no error");
}

TEST_CASE("accepted options without effect are warned about") {
  World world;
  const auto made = plan(world, {"--event-log-handler=console", "--start-method=fork", "train.py"});
  REQUIRE(made.has_value());
  CHECK(made->warnings.size() == 2);
  CHECK(has(made->notes, "interpreter: /usr/bin/python3"));
}

TEST_CASE("the summary's path is absolute, the log's options follow") {
  World world;
  world.machine.kinds["/job"] = PathKind::kDirectory;
  const auto made = plan(world, {"--summary-json=s.json", "train.py"});
  REQUIRE(made.has_value());
  CHECK(made->request.summary_json == "/job/s.json");
  const auto log = log_options(world.merge({"--log-level=debug", "--log-format=json", "s"}).value(),
                               world.around);
  CHECK(log.level == base::LogLevel::kDebug);
  CHECK(log.format == base::LogFormat::kJson);
  CHECK(log.colour == base::LogColour::kNever);
}

TEST_CASE("a supervisor that resumes the run logs as the first one did") {
  World world;
  const auto made = plan(world, {"--log-level=debug", "--log-format=json", "train.py"});
  REQUIRE(made.has_value());
  const auto saved = wire::decode<supervisor::RunRequest>(wire::encode(made->request));
  REQUIRE(saved.has_value());
  CHECK(saved->log_level == base::LogLevel::kDebug);
  CHECK(saved->log_format == base::LogFormat::kJson);
  for (const char* option : {"--quiet", "--compat=torchrun"}) {
    CHECK(plan(world, {option, "train.py"})->request.log_level == base::LogLevel::kWarn);
  }
}

TEST_CASE("--quiet leaves warnings and errors, and no report at the end") {
  World world;
  const auto level = [&](const std::vector<std::string>& argv) {
    return log_options(world.merge(argv).value(), world.around).level;
  };
  CHECK(level({"-q", "s"}) == base::LogLevel::kWarn);
  CHECK(level({"--quiet", "--log-level=debug", "s"}) == base::LogLevel::kWarn);
  CHECK(level({"--quiet", "--log-level=error", "s"}) == base::LogLevel::kError);
  const auto made = plan(world, {"--quiet", "train.py"});
  REQUIRE(made.has_value());
  CHECK_FALSE(made->request.print_report);
}

}  // namespace robustrun::cli::plan_test
