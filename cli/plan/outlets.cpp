#include "cli/plan/outlets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "cli/nodes/rendezvous.h"
#include "cli/options/command_words.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using supervisor::OutletPlan;

constexpr const char* kLoopback = "127.0.0.1";

base::Status plan_port(const Settings& settings, const Surroundings& around, OutletPlan& plan) {
  const OptionId id = OptionId::kMetricsPort;
  if (!settings.has(id)) return {};
  const std::string text = settings.text(id);
  const auto colon = text.rfind(':');
  const auto port = parse_integer(colon == std::string::npos ? text : text.substr(colon + 1));
  if (!port || *port < 0 || *port > kPortMax) {
    return cannot_use(settings, id, "expected a port, 0 to 65535, or HOST:PORT");
  }
  plan.metrics_port = static_cast<std::uint16_t>(*port);
  plan.metrics_address = kLoopback;
  if (colon == std::string::npos) return {};
  const auto endpoint = parse_endpoint(text.substr(0, colon));
  if (!endpoint) return cannot_use(settings, id, endpoint.error().what);
  const auto addresses = around.network->look_up(endpoint->host);
  if (!addresses) return cannot_use(settings, id, addresses.error().code, addresses.error().what);
  if (addresses->empty()) return cannot_use(settings, id, "that host has no address");
  plan.metrics_address = addresses->front();
  return {};
}

base::Status plan_events(const Settings& settings, const Surroundings& around, OutletPlan& plan) {
  const OptionId id = OptionId::kEvents;
  if (!settings.has(id)) return {};
  const std::string text = settings.text(id);
  if (!text.starts_with("fd:")) {
    plan.events_file = RR_TRY(output_file(settings, around, id));
    return {};
  }
  const auto fd = parse_integer(text.substr(3));
  if (!fd || *fd < 0 || *fd > kFdMax) {
    return cannot_use(settings, id, "expected the number of a descriptor after fd:");
  }
  if (settings.flag(OptionId::kDetach)) {
    return cannot_use(settings, id, "a detached run keeps no descriptor; name a file");
  }
  if (around.machine->kind(fmt::format("/proc/self/fd/{}", *fd)) == PathKind::kMissing) {
    return cannot_use(settings, id,
                      fmt::format("descriptor {} is not open; in a shell: {}>FILE", *fd, *fd));
  }
  plan.events_fd = static_cast<int>(*fd);
  return {};
}

base::Result<std::vector<std::string>> plan_command(const Settings& settings,
                                                    const Surroundings& around, OptionId id,
                                                    const std::string& text) {
  auto words = command_words(text);
  if (!words) return cannot_use(settings, id, words.error().what);
  std::string& program = words->front();
  const std::string path = around.variable("PATH").value_or("");
  auto found = around.machine->find_executable(program, path);
  if (!found) return cannot_use(settings, id, found.error().code, found.error().what);
  program = *std::move(found);
  return words;
}

base::Status plan_hook(const Settings& settings, const Surroundings& around, OutletPlan& plan) {
  const OptionId id = OptionId::kOnIncident;
  if (!settings.has(id)) return {};
  plan.on_incident = RR_TRY(plan_command(settings, around, id, settings.text(id)));
  return {};
}

base::Status plan_bad_node(const Settings& settings, const Surroundings& around,
                           supervisor::BadNodePlan& plan) {
  using Action = supervisor::BadNodePlan::Action;
  const OptionId id = OptionId::kOnBadNode;
  if (!settings.has(id)) return {};
  const std::string text = settings.text(id);
  plan.action = text == "slurm-drain"     ? Action::kDrain
                : text == "slurm-comment" ? Action::kComment
                                          : Action::kCommand;
  const bool is_command = plan.action == Action::kCommand;
  plan.argv = RR_TRY(plan_command(settings, around, id, is_command ? text : "scontrol update"));
  if (plan.action != Action::kComment) return {};
  plan.job = around.variable("SLURM_JOB_ID").value_or("");
  if (plan.job.empty()) {
    return cannot_use(settings, id, "this is no Slurm job (SLURM_JOB_ID is not set)");
  }
  return {};
}

}  // namespace

base::Result<std::string> output_file(const Settings& settings, const Surroundings& around,
                                      OptionId id) {
  std::string path = settings.text(id);
  if (path.empty()) return cannot_use(settings, id, "expected a file");
  if (!path.starts_with('/')) path = around.working_directory + "/" + path;
  const std::string folder = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  const PathKind kind = around.machine->kind(folder);
  if (kind != PathKind::kDirectory && kind != PathKind::kEmptyDirectory) {
    return cannot_use(settings, id, Errc::kNotFound,
                      fmt::format("there is no directory {}; make it first", folder));
  }
  return path;
}

base::Result<OutletPlan> plan_outlets(const Settings& settings, const Surroundings& around) {
  OutletPlan plan;
  RR_TRY(plan_port(settings, around, plan));
  if (settings.has(OptionId::kMetricsFile)) {
    plan.metrics_file = RR_TRY(output_file(settings, around, OptionId::kMetricsFile));
  }
  RR_TRY(plan_events(settings, around, plan));
  RR_TRY(plan_hook(settings, around, plan));
  RR_TRY(plan_bad_node(settings, around, plan.on_bad_node));
  return plan;
}

}  // namespace robustrun::cli
