#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "agent/agent.h"
#include "agent/spawn/numa.h"
#include "agent/spawn/usable_cpus.h"
#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "base/io/descriptor_limit.h"
#include "base/io/log.h"
#include "base/io/munge.h"
#include "base/io/private_dir.h"
#include "cli/commands/commands.h"
#include "cli/commands/detach.h"
#include "cli/host/installed_files.h"
#include "cli/manual/completion.h"
#include "cli/nodes/join_token.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/options/print_config.h"
#include "cli/options/settings.h"
#include "cli/plan/network.h"
#include "cli/plan/plan.h"
#include "cli/plan/sync_code.h"
#include "cli/runs/run_index.h"
#include "cli/submit/submit.h"
#include "cli/text/dry_run.h"
#include "cli/text/terminal.h"
#include "supervisor/console/console.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

// The agent plans the binding again on its node; here an impossible one is reported before anything
// starts.
base::Result<NodeCpus> plan_cpus(const RunPlan& plan, const Surroundings& around) {
  const wire::WorkerTemplate& workers = plan.request.workers;
  NodeCpus cpus;
  cpus.usable = agent::usable_cpus();
  const bool is_wanted = !workers.numa_binding.empty() || !workers.numa_memory.empty();
  if (!is_wanted || plan.request.spec.nodes[0].slots == 0) return cpus;
  agent::NumaRequest request;
  request.mode = workers.numa_binding;
  request.memory = workers.numa_memory;
  request.local_world_size = plan.request.spec.nodes[0].slots;
  request.cuda_visible_devices = around.variable("CUDA_VISIBLE_DEVICES");
  request.allowed_cpus = agent::allowed_cpus();
  agent::NumaPlan bound = RR_TRY(agent::plan_numa_binding(request));
  cpus.bindings = std::move(bound.cpus);
  cpus.memory = std::move(bound.memory);
  return cpus;
}

// Resolves the leader's name, again and again: a name service may know it only once that machine is
// up (pods, cloud machines).
base::Result<std::vector<std::string>> find_leader(const RunPlan& plan, const Network& network) {
  const Meeting& meeting = *plan.nodes.meeting;
  if (!meeting.addresses.empty()) return meeting.addresses;
  const base::Nanos limit = plan.request.spec.group.wait_for_nodes;
  const base::SystemClock clock;
  const base::Nanos until = clock.now() + limit;
  for (bool warned = false;; warned = true) {
    auto addresses = network.look_up(meeting.control.host);
    if (addresses && !addresses->empty()) return addresses;
    const std::string why = addresses ? fmt::format("{} has no known address", meeting.control.host)
                                      : addresses.error().what;
    if (clock.now() >= until) {
      return base::fail(base::Errc::kTimeout,
                        fmt::format("cannot find the rendezvous: {}; correct the endpoint", why));
    }
    if (!warned) {
      RR_LOG(kWarn, {}, "{}; trying again for at most {}", why,
             std::chrono::floor<std::chrono::seconds>(limit));
    }
    static_cast<void>(::poll(nullptr, 0, kLookUpAgainMs));
  }
}

std::vector<std::string> endpoints_of(const std::vector<std::string>& addresses,
                                      std::uint16_t port) {
  std::vector<std::string> endpoints;
  for (const std::string& address : addresses) {
    const bool is_v6 = address.find(':') != std::string::npos;
    endpoints.push_back(fmt::format(fmt::runtime(is_v6 ? "[{}]:{}" : "{}:{}"), address, port));
  }
  return endpoints;
}

base::Result<wire::Credential> joining_credential(const RunPlan& plan, const Network& network) {
  const Meeting& meeting = *plan.nodes.meeting;
  if (!plan.nodes.join_token.empty()) {
    return await_join_token(plan.nodes.join_token, plan.request.spec.group.wait_for_nodes);
  }
  const auto addresses = RR_TRY(find_leader(plan, network));
  wire::Credential credential;
  credential.run_id = meeting.id;
  credential.token = plan.nodes.secret;
  credential.endpoints = endpoints_of(addresses, meeting.control.port);
  return credential;
}

// Console of a joining machine: shows the output of its workers as its own options say.
class GuestConsole final : public agent::OwnConsole {
 public:
  GuestConsole(const supervisor::RunRequest& request, std::string host,
               boost::asio::any_io_executor executor, std::function<void()> on_drained)
      : shown_ranks_(request.shown_ranks),
        host_(std::move(host)),
        console_(supervisor::Console::open(std::move(executor), STDOUT_FILENO, STDERR_FILENO,
                                           request.console, request.spec.role,
                                           std::move(on_drained))) {}

  void write(const wire::Output& output) override {
    const auto holds = [rank = output.rank.value](const supervisor::RankRange& range) {
      return range.first <= rank && rank <= range.last;
    };
    if (shown_ranks_.empty() || std::ranges::any_of(shown_ranks_, holds)) {
      console_->write(output, host_);
    }
  }
  [[nodiscard]] bool congested() const override { return console_->congested(); }
  void flush(std::function<void()> done) override { console_->flush(std::move(done)); }

 private:
  const std::vector<supervisor::RankRange> shown_ranks_;
  const std::string host_;  // of this machine
  const std::unique_ptr<supervisor::Console> console_;
};

// Joins a run that another machine leads.
int join(const RunPlan& plan, const Surroundings& around) {
  const Meeting& meeting = *plan.nodes.meeting;
  auto credential = joining_credential(plan, *around.network);
  if (!credential) {
    const int usage = complain(credential.error());
    const bool is_late = credential.error().code == base::Errc::kTimeout;
    return is_late ? supervisor::exit_code_for_infrastructure(plan.request.spec.compat) : usage;
  }
  agent::RemoteAgent guest;
  guest.credential = *std::move(credential);
  guest.credential.interface = plan.nodes.interface;
  guest.ends_with_node = !plan.nodes.join_token.empty();
  guest.self.slots = plan.request.spec.nodes.front().slots;
  guest.self.node_rank = meeting.node_rank;
  guest.self.command_digest = command_digest(plan.request.workers);
  if (plan.nodes.trust == Trust::kMunge) guest.munge = {base::munge_encode, base::munge_check};
  guest.end_signals = plan.request.end_signals;
  guest.forwarded_signals = plan.request.forwarded_signals;
  guest.shutdown_grace = plan.request.spec.deadlines.shutdown_grace;
  guest.first_contact_max = plan.request.spec.group.wait_for_nodes;
  guest.on_late = [limit = guest.first_contact_max](const std::string& why) {
    say(fmt::format("{}; trying again for at most {}", why, base::duration_words(limit)));
  };
  if (plan.nodes.join_token.empty()) {
    guest.look_up = [&network = *around.network, leader = meeting.control] {
      const auto addresses = network.look_up(leader.host);
      return addresses ? endpoints_of(*addresses, leader.port) : std::vector<std::string>();
    };
  }
  guest.own_workers = plan.request.workers;
  for (const supervisor::StreamRoutes& routes : plan.request.routes) {
    guest.own_streams.push_back({routes.out, routes.err});
  }
  // In native mode the leader's console shows the whole run.
  if (plan.request.spec.compat) {
    guest.open_console = [&plan, host = around.host](boost::asio::any_io_executor executor,
                                                     std::function<void()> on_drained) {
      return std::make_unique<GuestConsole>(plan.request, host, std::move(executor),
                                            std::move(on_drained));
    };
  }
  RR_LOG(kInfo, {}, "joining {} at {}", meeting.id == kNoRunId ? "the run" : "run " + meeting.id,
         base::join(guest.credential.endpoints, ", "));
  return agent::run_remote_agent(std::move(guest));
}

}  // namespace

int carry_out(RunPlan plan, const Surroundings& around) {
  for (const std::string& warning : plan.warnings) RR_LOG(kWarn, {}, "{}", warning);
  for (const std::string& note : plan.notes) RR_LOG(kDebug, {}, "{}", note);
  if (const auto& meeting = plan.nodes.meeting) {
    // Of several commands on one machine, the first to get the port leads.
    const bool leads = meeting->part == Meeting::Part::kHost ||
                       (meeting->part == Meeting::Part::kEither &&
                        around.network->check_port(meeting->control.port));
    if (!leads) return join(plan, around);
  }
  using Launch = supervisor::NetworkPlan::Launch;
  const Launch launch = plan.request.network.launch;
  if (launch == Launch::kSocketPair || launch == Launch::kProcesses) {
    // No agent of this machine can start without it.
    const auto made =
        base::make_private_directory(base::private_base_directory(around.environment));
    if (!made) return complain(made.error());
  }
  if (auto made = make_places(plan.places); !made) return complain(made.error());
  if (!plan.request.spec.check_only) note_run(around, plan.places.run_directory);
  base::raise_descriptor_limit();  // where the process that started us has lowered it
  if (auto packed = sync_code(plan); !packed) return complain(packed.error());
  plan.request.network.ssh.bundle = installed_files(
      around.executable, plan.request.workers.image_mode == wire::ImageMode::kBlocks);
  const int exit_code = supervisor::run_job(plan.request);
  return exit_code == supervisor::kAnotherLeads ? join(plan, around) : exit_code;
}

int run_command(std::span<const std::string> argv, const Surroundings& around, int announce_fd) {
  const auto line = parse_run_line(argv);
  if (!line) return complain_of_usage(around, "run", line.error().what);
  if (line->value(OptionId::kHelp)) {
    const int columns = terminal_columns(around);
    print(is_name_of_torch(around.program_name) ? options_help(around.program_name, columns)
                                                : first_help(columns));
    return 0;
  }
  if (line->value(OptionId::kVersion)) return version_command();
  if (const auto& shell = line->value(OptionId::kPrintCompletion)) {
    print(completion_script(*shell, around.program_name));
    return 0;
  }
  if (const auto status = check_subcommand(*line, Group::kWhat); !status) {
    return complain_of_usage(around, "run", status.error().what);
  }
  const auto settings = merge_settings(*line, around);
  if (!settings) return complain(settings.error());
  if (settings->has(OptionId::kPrintConfig)) {
    const bool json = settings->text(OptionId::kPrintConfig) == "json";
    print(json ? config_json(*settings) : config_toml(*settings));
    return 0;
  }
  if (!settings->script) {
    return complain_of_usage(around, "run",
                             "the following arguments are required: training_script");
  }
  if (settings->flag(OptionId::kDetach) && announce_fd < 0 && !settings->flag(OptionId::kDryRun)) {
    return start_detached("run", argv, around, settings->flag(OptionId::kQuiet));
  }
  auto plan = plan_run(*settings, argv, around);
  if (!plan) return complain(plan.error());
  const auto cpus = plan_cpus(*plan, around);
  if (!cpus) return complain(cpus.error());
  base::configure_log(log_options(*settings, around));
  plan->request.announce_fd = announce_fd;
  if (!settings->flag(OptionId::kDryRun)) return carry_out(*std::move(plan), around);
  const auto text = dry_run_text(*plan, *cpus);
  if (!text) return complain(text.error());
  print(*text);
  return 0;
}

}  // namespace robustrun::cli
