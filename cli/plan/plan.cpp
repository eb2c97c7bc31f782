#include "cli/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "agent/output/line_metrics.h"
#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "cli/nodes/batch_hosts.h"
#include "cli/nodes/rendezvous.h"
#include "cli/options/limits.h"
#include "cli/options/redact.h"
#include "cli/options/values.h"
#include "cli/plan/accelerate.h"
#include "cli/plan/check.h"
#include "cli/plan/deps.h"
#include "cli/plan/network.h"
#include "cli/plan/notify.h"
#include "cli/plan/outlets.h"
#include "cli/plan/program.h"
#include "cli/plan/routes.h"
#include "cli/plan/stage.h"
#include "cli/plan/trackers.h"
#include "cli/plan/workers.h"
#include "cli/tables/fault_file.h"
#include "cli/tables/policy_file.h"
#include "supervisor/console/console_log.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using supervisor::ConsoleStyle;

// torchrun's restart budget never refills: longer than any run.
constexpr base::Nanos kNeverRefilled = std::chrono::hours(24 * 365 * 100);
constexpr const char* kTeePrefix = "[${role_name}${local_rank}]:";

// Refuses options that are not supported, or not together.
base::Status check_unsupported(const Settings& settings, const Surroundings& around) {
  const bool passes_local_rank =
      around.program_name == kLaunchName && !settings.flag(OptionId::kUseEnv);
  if (passes_local_rank && settings.flag(OptionId::kNoPython)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot start {}: When using the '--no-python' flag, you must also set "
                            "the '--use-env' flag.",
                            settings.script.value_or("")));
  }
  if (settings.has(OptionId::kLogsSpecs) && settings.text(OptionId::kLogsSpecs) != "default") {
    return fail(
        Errc::kUnavailable,
        fmt::format("cannot use {}: entry points of torchrun.logs_specs are Python plug-ins, "
                    "which are not supported; leave the option out, or use default",
                    settings.written(OptionId::kLogsSpecs)));
  }
  if (settings.has(OptionId::kStopAfterSteps) && settings.text(OptionId::kInject) == "off") {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("cannot use {} with --inject=off: steps are counted by the boot module; "
                    "add --inject=on",
                    settings.written(OptionId::kStopAfterSteps)));
  }
  return {};
}

base::Status plan_signals(const Settings& settings, const Surroundings& around, RunPlan& plan) {
  const std::string text = settings.text(OptionId::kSignalsToHandle);
  auto& ends = plan.request.end_signals;
  for (const std::string_view piece : base::split(text, ',')) {
    const std::string name(base::trim(piece));
    if (name.empty()) continue;
    const int number = base::signal_number(name);
    if (number == 0 || number == SIGKILL || number == SIGSTOP) {
      plan.warnings.push_back(fmt::format("{} in {} is ignored: {}", name,
                                          settings.written(OptionId::kSignalsToHandle),
                                          number == 0 ? "no such signal" : "it cannot be handled"));
    } else if (number == SIGHUP && around.hangup_ignored) {
      plan.notes.push_back("SIGHUP stays ignored, as nohup has set it");
    } else if (std::ranges::find(ends, number) == ends.end()) {
      ends.push_back(number);
    }
  }
  if (settings.compat()) return {};
  supervisor::BatchSignals& batch = plan.request.batch_signals;
  const launcher::BatchSystem system = batch_job_of(around).system;
  batch.system = launcher::to_string(system);
  const std::vector<int> warnings = launcher::warning_signals(system);
  for (const int number : {SIGUSR1, SIGUSR2}) {
    if (std::ranges::find(ends, number) != ends.end()) continue;
    const bool is_warning = std::ranges::find(warnings, number) != warnings.end();
    (is_warning ? batch.warnings : plan.request.forwarded_signals).push_back(number);
  }
  return {};
}

// Workers on other machines, and those of a detached run, cannot inherit our descriptors.
void never_inherit(supervisor::StreamRoutes& routes) {
  for (wire::StreamRoute* route : {&routes.out, &routes.err}) {
    if (*route == wire::StreamRoute::kInherit) *route = wire::StreamRoute::kConsole;
  }
}

bool takes_live_line(const Settings& settings, const Surroundings& around) {
  const std::string terminal = around.variable("TERM").value_or("");
  return settings.text(OptionId::kLiveLine) == "auto" && !settings.flag(OptionId::kQuiet) &&
         settings.text(OptionId::kLogFormat) != "json" && !terminal.empty() && terminal != "dumb" &&
         around.variable("CI").value_or("").empty();
}

// rich draws its progress bars only where it is told that lines can be redrawn, as they can with a
// live area (supervisor/console/frame_fold.h), and pipes cannot show. What the user says counts.
void offer_redrawing(const Surroundings& around, wire::WorkerTemplate& workers) {
  if (!around.variable("TTY_COMPATIBLE") && !around.variable("FORCE_COLOR")) {
    workers.environment.emplace_back("TTY_COMPATIBLE=1");
  }
}

base::Status plan_output(const Settings& settings, const Surroundings& around,
                         std::uint32_t workers, RunPlan& plan) {
  RouteWishes wishes;
  wishes.compat = settings.compat();
  wishes.files = !plan.places.log_directory.empty();
  const auto streams = [&](OptionId id) -> Result<StreamChoice> {
    auto choice = parse_stream_choice(settings.text(id));
    if (!choice) return cannot_use(settings, id, choice.error().code, choice.error().what);
    return choice;
  };
  wishes.redirects = RR_TRY(streams(OptionId::kRedirects));
  wishes.tee = RR_TRY(streams(OptionId::kTee));
  auto shown = parse_ranks(settings.text(OptionId::kLocalRanksFilter));
  if (!shown)
    return cannot_use(settings, OptionId::kLocalRanksFilter, shown.error().code,
                      shown.error().what);
  wishes.shown = *std::move(shown);
  plan.request.routes = plan_routes(wishes, workers);
  const bool detached = settings.flag(OptionId::kDetach);
  const auto launch = plan.request.network.launch;
  if (detached || launch == supervisor::NetworkPlan::Launch::kSsh ||
      launch == supervisor::NetworkPlan::Launch::kSlurm) {
    for (supervisor::StreamRoutes& routes : plan.request.routes) never_inherit(routes);
  }

  ConsoleStyle& style = plan.request.console;
  const bool is_wide = workers > 1 || plan.request.spec.group.max_nodes > 1;
  style.live = !detached && around.stderr_is_terminal && takes_live_line(settings, around);
  if (style.live) offer_redrawing(around, plan.request.workers);
  style.fold = settings.flag(OptionId::kFoldLines) || (style.live && is_wide);
  style.colour_out = use_colour(settings, around, around.stdout_is_terminal);
  style.colour_err = use_colour(settings, around, around.stderr_is_terminal);
  const std::string asked = settings.text(OptionId::kLinePrefix);
  const std::string own_template = settings.text(OptionId::kLogLinePrefixTemplate);
  plan.request.workers.line_prefix_template = own_template;
  if (asked == "off") {
    style.prefix = ConsoleStyle::Prefix::kNone;
  } else if (wishes.tee.any() || !own_template.empty()) {
    style.prefix = ConsoleStyle::Prefix::kTemplate;
    style.prefix_template = own_template.empty() ? kTeePrefix : own_template;
  } else if (asked == "on" || ((around.stdout_is_terminal || detached) && is_wide)) {
    style.prefix = ConsoleStyle::Prefix::kRank;
  }
  return {};
}

supervisor::JobSpec plan_job(const Settings& settings, std::span<const std::string> argv,
                             const Program& program, const Rendezvous& rendezvous,
                             const Places& places) {
  supervisor::JobSpec spec;
  spec.run_id = places.run_name;
  spec.program = program.script;
  spec.command = redacted(argv);
  spec.role = settings.text(OptionId::kRole);
  spec.master_addr = rendezvous.master_addr;
  spec.master_port = rendezvous.master_port;
  spec.compat = settings.compat();
  spec.restart.max_restarts =
      static_cast<std::uint32_t>(settings.integer(OptionId::kMaxRestarts).value_or(0));
  const auto window = settings.duration(OptionId::kRestartWindow).value_or(base::Nanos::zero());
  spec.restart.window = window == base::Nanos::zero() ? kNeverRefilled : window;
  if (settings.compat()) {
    spec.restart.crash_loop_stop = false;
    spec.restart.backoff_first = base::Nanos::zero();
    spec.restart.backoff_max = base::Nanos::zero();
  }
  spec.deadlines.shutdown_grace =
      settings.duration(OptionId::kShutdownTimeout).value_or(spec.deadlines.shutdown_grace);
  spec.time_limit = settings.duration(OptionId::kTimeLimit);
  if (const auto steps = settings.integer(OptionId::kStopAfterSteps)) {
    spec.stop_after_steps = static_cast<std::uint64_t>(*steps);
  }
  spec.log_directory = places.log_directory;
  return spec;
}

supervisor::HangPolicy hang_policy(const Settings& settings) {
  supervisor::HangPolicy policy;
  policy.timeout = settings.duration(OptionId::kHangTimeout).value_or(base::Nanos::zero());
  policy.act = policy.timeout > base::Nanos::zero();
  return policy;
}

base::Status plan_detached(const Settings& settings, const NodesPlan& nodes, RunPlan& plan) {
  if (!settings.flag(OptionId::kDetach)) return {};
  const auto refuse = [&](const char* why) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot use {}: {}", settings.written(OptionId::kDetach), why));
  };
  if (nodes.meeting) {
    return refuse(
        "with torchrun's rendezvous every node has its own command; name the nodes "
        "with --hosts");
  }
  if (settings.has(OptionId::kStdin)) {
    return refuse("there is no standard input for --stdin");
  }
  plan.request.console_log = supervisor::console_log_file(plan.places.run_directory);
  return {};
}

// GitHub Actions; torchrun does nothing of the kind.
void plan_ci(const Settings& settings, const Surroundings& around, supervisor::CiPlan& ci) {
  if (settings.compat() || around.variable("GITHUB_ACTIONS") != "true") return;
  ci.annotate = true;
  ci.summary_file = around.variable("GITHUB_STEP_SUMMARY").value_or("");
  ci.workspace = around.variable("GITHUB_WORKSPACE").value_or("");
}

void warn_of_unused(const Settings& settings, RunPlan& plan) {
  const auto warn = [&](OptionId id, const char* why) {
    plan.warnings.push_back(fmt::format("{} has no effect: {}", settings.written(id), why));
  };
  if (settings.text(OptionId::kEventLogHandler) != "null") {
    warn(OptionId::kEventLogHandler, "events are in the run's journal (robustrun report)");
  }
  if (settings.given(OptionId::kStartMethod) && settings.text(OptionId::kStartMethod) != "spawn") {
    warn(OptionId::kStartMethod, "workers are always fresh processes");
  }
}

}  // namespace

bool is_denied_variable(std::string_view name) {
  constexpr std::array<std::string_view, 12> kDenied = {
      "ROBUSTRUN_SECRET_FILE",      "ROBUSTRUN_RUN_ID",       "ROBUSTRUN_ATTEMPT",
      "ROBUSTRUN_INCARNATION",      "ROBUSTRUN_NODE",         "ROBUSTRUN_RECORD",
      "ROBUSTRUN_SOCKET",           "ROBUSTRUN_STACK_SIGNAL", "ROBUSTRUN_FLIGHT_SOCKET",
      "ROBUSTRUN_TRACE_DISPATCHER", "ROBUSTRUN_NOTIFY",       "ROBUSTRUN_TRACKER_STATE"};
  return std::ranges::find(kDenied, name) != kDenied.end();
}

bool use_colour(const Settings& settings, const Surroundings& around, bool is_terminal) {
  const std::string choice = settings.text(OptionId::kColour);
  if (choice != "auto") return choice == "always";
  return around.takes_colour(is_terminal);
}

base::LogOptions log_options(const Settings& settings, const Surroundings& around) {
  base::LogOptions log;
  const std::string level = settings.text(OptionId::kLogLevel);
  if (level == "debug") log.level = base::LogLevel::kDebug;
  if (level == "info") log.level = base::LogLevel::kInfo;
  if (level == "warn") log.level = base::LogLevel::kWarn;
  if (level == "error") log.level = base::LogLevel::kError;
  if (level == "off") log.level = base::LogLevel::kOff;
  if (settings.flag(OptionId::kQuiet)) log.level = std::max(log.level, base::LogLevel::kWarn);
  const bool json = settings.text(OptionId::kLogFormat) == "json";
  log.format = json ? base::LogFormat::kJson : base::LogFormat::kHuman;
  log.colour = use_colour(settings, around, around.stderr_is_terminal) ? base::LogColour::kAlways
                                                                       : base::LogColour::kNever;
  return log;
}

Result<RunPlan> plan_run(const Settings& given, std::span<const std::string> argv,
                         const Surroundings& callers) {
  RR_ASSERT(given.script.has_value() && callers.machine != nullptr);
  Settings settings = given;
  Surroundings around = callers;
  if (around.working_directory.empty()) {
    return fail(Errc::kNotFound,
                "cannot start anything here: the working directory is gone; "
                "change to one that exists");
  }
  RR_TRY(check_unsupported(settings, around));
  AcceleratePlan accelerate = RR_TRY(plan_accelerate(around, &settings));
  set_variables(accelerate.environment, around.environment);
  NodesPlan nodes = RR_TRY(plan_nodes(settings, around));
  const Rendezvous rendezvous = RR_TRY(plan_rendezvous(settings, around, nodes.where()));
  Program program =
      RR_TRY(find_program(settings, around,
                          nodes.way == NodesPlan::Way::kSsh || nodes.way == NodesPlan::Way::kSlurm
                              ? CountOn::kEveryHost
                              : CountOn::kThisMachine));
  if (nodes.gpus_per_node != 0) program.workers = nodes.gpus_per_node;
  base::Rng rng(around.seed);

  RunPlan plan;
  plan.warnings = std::move(accelerate.warnings);
  plan.warnings.insert(plan.warnings.end(), rendezvous.warnings.begin(), rendezvous.warnings.end());
  plan.notes = program.notes;
  if (!accelerate.environment.empty()) {
    plan.notes.push_back(fmt::format("accelerate sets {}", fmt::join(accelerate.environment, " ")));
  }
  plan.places = RR_TRY(plan_places(settings, around, rendezvous.id, rendezvous.standalone, rng));
  plan.request.spec = plan_job(settings, argv, program, rendezvous, plan.places);
  plan.request.workers = RR_TRY(plan_workers(settings, around, program, plan.places, nodes));
  RR_TRY(plan_deps(settings, around, plan.request));
  plan.sync_code = RR_TRY(plan_sync_code(settings, around, !nodes.meeting));
  plan.placement = RR_TRY(plan_placement(settings, around, program.workers, nodes));
  plan.request.placement = plan.placement.request;
  plan.request.spec.faults = RR_TRY(plan_faults(settings, around));
  plan.request.spec.policy = RR_TRY(plan_policy(settings, around));
  plan.request.replay_command = RR_TRY(plan_replay_command(settings));
  plan.request.spec.replays_own_program = !plan.request.replay_command.empty();
  plan.request.hangs = hang_policy(settings);
  if (std::string unused = unused_hosts(nodes); !unused.empty()) {
    nodes.warnings.push_back(std::move(unused));
  }
  RR_TRY(check_world(settings, nodes, program.workers));
  plan.request.spec.expect_world = nodes.expect_world.value_or(0);
  plan.request.spec.preflight = preflight_depth(settings, nodes);
  plan.request.run_directory = plan.places.run_directory;
  RR_TRY(plan_network(around, nodes, rendezvous, program, plan.request));
  plan.request.node_history = nodes.history;
  std::uint32_t most_workers = 0;
  for (const auto& node : plan.request.spec.nodes) {
    most_workers = std::max(most_workers, node.slots == 0 ? kWorkersPerNodeMax : node.slots);
  }
  RR_TRY(plan_output(settings, around, most_workers, plan));
  RR_TRY(plan_signals(settings, around, plan));
  RR_TRY(plan_detached(settings, nodes, plan));
  if (settings.has(OptionId::kSummaryJson)) {
    plan.request.summary_json = RR_TRY(output_file(settings, around, OptionId::kSummaryJson));
  }
  if (settings.has(OptionId::kSummaryJunit)) {
    plan.request.ci.junit_file = RR_TRY(output_file(settings, around, OptionId::kSummaryJunit));
  }
  plan_ci(settings, around, plan.request.ci);
  plan.request.outlets = RR_TRY(plan_outlets(settings, around));
  plan.request.outlets.notify = RR_TRY(plan_notify(settings, around, plan.warnings));
  RR_TRY(plan_trackers(settings, around, plan));
  plan.request.print_child_failed = settings.compat() || settings.flag(OptionId::kChildFailedBlock);
  plan.request.print_report = !settings.compat() && !settings.flag(OptionId::kQuiet);
  const base::LogOptions log = log_options(settings, around);
  plan.request.log_level = log.level;
  plan.request.log_format = log.format;
  plan.request.nested_error_file = around.variable("TORCHELASTIC_ERROR_FILE").value_or("");
  warn_of_unused(settings, plan);
  plan.warnings.insert(plan.warnings.end(), nodes.warnings.begin(), nodes.warnings.end());
  plan.nodes = std::move(nodes);
  return plan;
}

}  // namespace robustrun::cli
