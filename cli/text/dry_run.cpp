#include "cli/text/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "agent/spawn/worker_command.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/options/redact.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using wire::StreamRoute;

constexpr const char* kMadeAtStart = "<made at the start>";
constexpr const char* kKnownAtStart = "<known at the start>";

const char* route_text(StreamRoute route) {
  switch (route) {
    case StreamRoute::kInherit: return "directly to ours";
    case StreamRoute::kConsole: return "console";
    case StreamRoute::kFile: return "file";
    case StreamRoute::kFileAndConsole: return "file and console";
    case StreamRoute::kDiscard: return "nowhere";
  }
  return "";
}

// The first order to `node`, and the variables that depend on other nodes.
struct FirstStart {
  wire::StartWorkers order;
  std::set<std::string_view> undecided;
};

FirstStart first_start(const supervisor::RunRequest& request, const supervisor::NodeSpec& node) {
  FirstStart first;
  wire::StartWorkers& start = first.order;
  const supervisor::GroupPolicy& group = request.spec.group;
  const std::span members =
      std::span(request.spec.nodes)
          .first(std::min<std::size_t>(group.max_nodes, request.spec.nodes.size()));
  start.ordered_by = 1;
  start.group_world_size = group.max_nodes;
  start.world_size = 0;
  bool all_counted = members.size() == group.max_nodes;
  for (const supervisor::NodeSpec& member : members) {
    start.world_size += member.slots;
    all_counted = all_counted && member.slots != 0;
  }
  if (!all_counted) first.undecided = {"WORLD_SIZE", "ROLE_WORLD_SIZE"};
  if (group.min_nodes != group.max_nodes) {
    first.undecided.insert({"WORLD_SIZE", "ROLE_WORLD_SIZE", "GROUP_WORLD_SIZE"});
  }
  if (group.open && group.max_nodes > 1) {  // the others join in any order
    first.undecided.insert({"RANK", "ROLE_RANK"});
    start.group_rank = node.node_rank.value_or(0);
    if (!node.node_rank) first.undecided.insert({"GROUP_RANK", "NODE_RANK"});
    if (request.spec.master_addr.empty()) first.undecided.insert("MASTER_ADDR");
  }
  start.master_addr = request.spec.master_addr.empty() ? node.address : request.spec.master_addr;
  start.master_port = request.spec.master_port;
  for (std::uint32_t rank = 0; rank < node.slots; ++rank) {
    wire::WorkerSlot slot;
    slot.rank = base::Rank{rank};
    slot.local_rank = base::LocalRank{rank};
    slot.role_rank = rank;
    slot.out = request.routes[rank].out;
    slot.err = request.routes[rank].err;
    start.slots.push_back(slot);
  }
  return first;
}

// With several nodes: a line for each. The first one is then shown in full.
std::string node_table(const RunPlan& plan) {
  const auto& nodes = plan.request.spec.nodes;
  if (nodes.size() < 2) return "";
  std::string table;
  const std::string& count = plan.request.network.count;
  std::uint32_t rank = 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].slots == 0) {
      const bool is_spare = i >= plan.request.spec.group.max_nodes;
      table += fmt::format("{:<8} {:<24} workers: {}, counted there\n",
                           is_spare ? "spare" : fmt::format("node {}", i), nodes[i].name, count);
      continue;
    }
    if (i >= plan.request.spec.group.max_nodes) {
      table += fmt::format("spare    {:<24} {}\n", nodes[i].name,
                           base::counted(nodes[i].slots, "worker"));
      continue;
    }
    const std::string ranks = nodes[i].slots == 1
                                  ? fmt::format("rank {}", rank)
                                  : fmt::format("ranks {}-{}", rank, rank + nodes[i].slots - 1);
    table += fmt::format("node {:<3} {:<24} {}\n", i, nodes[i].name, ranks);
    rank += nodes[i].slots;
  }
  return table;
}

std::string shown_command(std::span<const std::string> argv) {
  std::string text;
  for (const std::string& argument : redacted(argv)) {
    if (!text.empty()) text += ' ';
    text += shell_quoted(argument);
  }
  return base::printable(text);
}

void append_environment(const std::vector<std::string>& environment,
                        const std::vector<std::string>& callers,
                        const std::set<std::string_view>& undecided, std::string& out) {
  out += "    environment, besides the caller's\n";
  for (const std::string& entry : environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    std::string shown = base::printable(redacted_assignment(entry));
    if (undecided.contains(name)) {
      shown = fmt::format("{}={}", name, kKnownAtStart);
    } else if (std::ranges::find(callers, entry) != callers.end()) {
      continue;
    } else if (entry == "MASTER_PORT=0") {
      shown = "MASTER_PORT=<a free port>";
    }
    out += fmt::format("      {}\n", shown);
  }
}

}  // namespace

base::Result<std::string> dry_run_text(const RunPlan& plan, const NodeCpus& cpus) {
  const supervisor::RunRequest& request = plan.request;
  RR_ASSERT(!request.spec.nodes.empty() && request.routes.size() >= request.spec.nodes[0].slots);
  const supervisor::NodeSpec& node = request.spec.nodes[0];
  const FirstStart first = first_start(request, node);
  const wire::StartWorkers& start = first.order;
  const std::string& all_logs = request.workers.log_directory;
  const std::string logs = supervisor::has_remote_agents(request)
                               ? supervisor::remote_log_directory(request, {0}, node.name)
                               : all_logs;
  const std::string workers = node.slots == 0
                                  ? fmt::format("workers: {}, counted there", request.network.count)
                                  : base::counted(node.slots, "worker");
  std::string out = node_table(plan) + fmt::format(
                                           "node 0: {} ({}), {}\n"
                                           "  run directory {}\n"
                                           "  logs          {}\n"
                                           "  started in    {}\n",
                                           node.name, node.address, workers, request.run_directory,
                                           all_logs.empty() ? "none" : all_logs,
                                           request.workers.working_directory);
  for (const wire::WorkerSlot& slot : start.slots) {
    const std::uint32_t local_rank = slot.local_rank.value;
    const std::string folder = fmt::format("{}/attempt_0/{}", logs, local_rank);
    agent::WorkerFiles files;
    if (!logs.empty()) files.error_file = folder + "/error.json";
    files.record = kMadeAtStart;
    files.socket = kMadeAtStart;
    const auto command =
        RR_TRY(agent::make_worker_command(request.workers, start, slot, files, cpus.usable));
    const std::string binding = local_rank < cpus.bindings.size() ? cpus.bindings[local_rank] : "";
    const std::string rank =
        first.undecided.contains("RANK") ? kKnownAtStart : std::to_string(slot.rank.value);
    out += fmt::format("  rank {} (local rank {})\n    command {}\n    cpus    {}\n", rank,
                       local_rank, shown_command(command.argv), binding.empty() ? "all" : binding);
    if (local_rank < cpus.memory.size() && !cpus.memory[local_rank].empty()) {
      out += fmt::format("    memory  {}\n", cpus.memory[local_rank]);
    }
    out +=
        fmt::format("    stdout  {}\n    stderr  {}\n", route_text(slot.out), route_text(slot.err));
    if (!logs.empty()) out += fmt::format("    files   {}\n", folder);
    append_environment(command.environment, request.workers.environment, first.undecided, out);
  }
  return out;
}

}  // namespace robustrun::cli
