#include "supervisor/core/status/render.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/report/metric_words.h"
#include "supervisor/core/report/pace.h"
#include "supervisor/core/report/page.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kColumns = 6;
constexpr std::size_t kColumnBytesMax = 40;
constexpr std::size_t kStartsShown = 8;
constexpr std::size_t kBandwidthShown = 8;
using Row = std::array<std::string, kColumns>;

Ink ink_of(const RunStatus& status) {
  if (status.supervisor == SupervisorStatus::kSilent && !status.is_busy) return Ink::kBad;
  if (status.exit_code) return *status.exit_code == 0 ? Ink::kGood : Ink::kBad;
  return status.state == JobState::kRunning ? Ink::kGood : Ink::kWarn;
}

std::string headline(const RunStatus& status) {
  const std::string program = status.program.empty() ? "run" : status.program;
  if (status.exit_code) {
    return fmt::format("{}: ended after {}, exit code {}", program,
                       base::duration_words(status.uptime), *status.exit_code);
  }
  if (status.supervisor == SupervisorStatus::kSilent) {
    return fmt::format("{}: was {} when the journal ends, {} after the start", program,
                       to_string(status.state), base::duration_words(status.uptime));
  }
  return fmt::format("{}: {}, attempt {}, up {}", program, to_string(status.state), status.attempt,
                     base::duration_words(status.uptime));
}

std::string supervisor_words(const RunStatus& status) {
  std::string where = status.pid > 0 ? fmt::format("pid {}", status.pid) : "";
  if (!status.host.empty()) where += (where.empty() ? "on " : " on ") + status.host;
  if (status.supervisor != SupervisorStatus::kSilent) return where;
  if (status.is_busy) {
    return fmt::format("busy or stopped{}; status from the journal",
                       where.empty() ? "" : fmt::format(", {}", where));
  }
  return fmt::format(
      "does not answer{}; status from the journal\n"
      "to take over, if it is gone: robustrun resume {}",
      where.empty() ? "" : fmt::format("; it was {}", where),
      status.run_id.empty() ? "RUN" : status.run_id);
}

bool is_live(const RunStatus& status) { return status.supervisor == SupervisorStatus::kAnswers; }

std::string worker_words(const RunStatus& status) {
  if (status.workers == 0) return "";
  const auto members = std::ranges::count_if(
      status.nodes, [](const NodeStatus& node) { return node.node_rank.has_value(); });
  return fmt::format("{} on {}", status.workers,
                     base::counted(static_cast<std::uint64_t>(members), "node"));
}

std::string progress_words(const RunStatus& status) {
  std::vector<std::string> parts;
  if (status.step) parts.push_back(fmt::format("step {}", *status.step));
  if (status.steps > 0) {
    parts.push_back(fmt::format("{} {}", base::counted(status.steps, "step"),
                                status.attempt > 0 ? "since the last start" : "done"));
  }
  if (status.steps_per_second) {
    parts.push_back(fmt::format("{:.4g} steps/s", *status.steps_per_second));
  }
  if (status.left) parts.push_back(eta_words(*status.left));
  if (status.stepped && !status.exit_code) {
    parts.push_back(fmt::format("the last one {} {}", base::duration_words(*status.stepped),
                                is_live(status) ? "ago" : "before its end"));
  }
  for (const wire::Metric& metric : status.metrics) {
    parts.push_back(metric_words(metric));
  }
  return base::join(parts, ", ");
}

// "rank 3 waits for source web, /data/web-0.bin, 12 s so far, and 2 more ranks"
std::string data_words(const RunStatus& status) {
  const DataWaits waits = data_waits_of(status);
  std::string text;
  if (waits.waiting != nullptr) {
    const std::string& place = waits.waiting->data_place;
    text = fmt::format("rank {} waits for {}, {} so far", waits.waiting_rank,
                       place.empty() ? "its next batch" : base::printable(place),
                       base::duration_words(*waits.waiting->data_waiting));
    if (waits.waiting_ranks > 1) {
      text += fmt::format(", and {} more", waits.waiting_ranks - 1);
    }
  } else if (waits.waited >= kDataWaitShown) {
    text = fmt::format("rank {} has waited longest for batches, {} in all", waits.waited_rank,
                       base::duration_words(waits.waited));
  }
  if (waits.skipped > 0) {
    text += fmt::format("{}{} skipped", text.empty() ? "" : "; ",
                        base::counted(waits.skipped, "record"));
  }
  return text;
}

std::string resume_words(const RunStatus& status) {
  std::string text;
  if (status.committed_step) text = fmt::format("step {} is committed", *status.committed_step);
  if (status.loaded_step) {
    text += fmt::format("{}this attempt resumed from step {}", text.empty() ? "" : ", ",
                        *status.loaded_step);
  }
  return text;
}

// Nodes before their first step and their stages, the longest stage first.
std::string start_words(const RunStatus& status) {
  std::vector<const NodeStatus*> starting;
  for (const NodeStatus& node : status.nodes) {
    if (!node.stage.empty()) starting.push_back(&node);
  }
  std::ranges::stable_sort(starting, std::greater{}, &NodeStatus::stage_took);
  std::vector<std::string> parts;
  for (const NodeStatus* const node : starting) {
    if (parts.size() == kStartsShown) {
      parts.push_back(fmt::format("and {} more", starting.size() - kStartsShown));
      break;
    }
    const std::string rank = node->stage_rank ? fmt::format(" (rank {})", *node->stage_rank) : "";
    parts.push_back(fmt::format("{}: {} {}{}", base::printable(node->name), node->stage,
                                base::duration_words(node->stage_took), rank));
  }
  return base::join(parts, "; ");
}

void show_bandwidth(const RunStatus& status, Page& page) {
  const std::size_t shown = std::min(status.bandwidth.size(), kBandwidthShown);
  for (std::size_t i = 0; i < shown; ++i) {
    page.item(i == 0 ? "bandwidth" : "", in_words(status.bandwidth[i]));
  }
  if (shown < status.bandwidth.size()) {
    page.item("", fmt::format("and {} more", status.bandwidth.size() - shown));
  }
}

void show_restarts(const RunStatus& status, Page& page) {
  if (status.restarts == 0) return;
  std::string lines = fmt::format("{}", status.restarts);
  for (const RestartStatus& restart : status.last_restarts) {
    lines +=
        fmt::format("\n{} after the start: {}", base::duration_words(restart.at), restart.cause);
  }
  page.item("restarts", lines);
}

std::string ranks_of(const NodeStatus& node) {
  if (node.workers == 0) return "-";
  if (node.workers == 1) return fmt::format("{}", node.first_rank);
  return fmt::format("{}-{}", node.first_rank,
                     static_cast<std::uint64_t>(node.first_rank) + node.workers - 1);
}

std::string agent_of(const NodeStatus& node, bool grouped) {
  if (grouped && node.is_spare()) return "spare";
  return node.evicted ? "evicted" : to_string(node.agent);
}

Row row_of(const NodeStatus& node, bool grouped) {
  return {node.node_rank ? fmt::format("{}", *node.node_rank) : "-",
          base::printable(node.name),
          base::printable(node.address),
          ranks_of(node),
          agent_of(node, grouped),
          node.heard ? base::duration_words(*node.heard) + " ago" : ""};
}

Ink ink_of(const NodeStatus& node) {
  if (node.agent == AgentStatus::kLost) return Ink::kBad;
  return node.agent == AgentStatus::kJoined ? Ink::kPlain : Ink::kWarn;
}

std::string line_of(const Row& row, const std::array<std::size_t, kColumns>& widths) {
  std::string line = "  ";
  for (std::size_t i = 0; i < kColumns; ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void show_nodes(const RunStatus& status, std::size_t nodes_max, Page& page) {
  if (status.nodes.empty()) return;
  const bool grouped = std::ranges::any_of(
      status.nodes, [](const NodeStatus& node) { return node.node_rank.has_value(); });
  const std::size_t shown = std::min(nodes_max, status.nodes.size());
  const Row head = {"node", "host", "address", "ranks", "agent", is_live(status) ? "heard" : ""};
  std::vector<Row> rows;
  for (std::size_t i = 0; i < shown; ++i) rows.push_back(row_of(status.nodes[i], grouped));
  std::array<std::size_t, kColumns> widths{};
  const auto widen = [&](const Row& row) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      widths[i] = std::max(widths[i], std::min(row[i].size(), kColumnBytesMax));
    }
  };
  widen(head);
  for (const Row& row : rows) widen(row);
  page.gap();
  page.line(line_of(head, widths), Ink::kDim);
  for (std::size_t i = 0; i < shown; ++i) {
    const NodeStatus& node = status.nodes[i];
    page.line(line_of(rows[i], widths), ink_of(node));
    const bool is_fine = node.agent == AgentStatus::kJoined;
    if (!is_fine && !node.trouble.empty()) page.item("", node.trouble);
    if (!node.scheduler.empty()) page.item("", "Slurm: " + node.scheduler);
  }
  if (shown < status.nodes.size()) {
    page.line(fmt::format("  and {} more", status.nodes.size() - shown), Ink::kDim);
  }
}

}  // namespace

std::string render_status(const RunStatus& status, bool colour, int width, std::size_t nodes_max) {
  Page page(colour, width);
  page.heading(ink_of(status), headline(status));
  const std::string started = utc_words(status.started);
  page.item("run", status.run_id + (started.empty() ? "" : ", started " + started));
  for (const EarlierStart& start : status.earlier_starts) {
    page.item(&start == &status.earlier_starts.front() ? "before" : "", in_words(start));
  }
  if (!status.command.empty()) page.item("command", "robustrun " + base::join(status.command, " "));
  page.item("process", supervisor_words(status));
  page.item("workers", worker_words(status));
  page.item("places", status.placement);
  page.item("start", start_words(status));
  page.item("waiting", status.group_wait ? in_words(*status.group_wait) : "");
  page.item("progress", progress_words(status));
  page.item("data", data_words(status));
  show_bandwidth(status, page);
  page.item("checkpoint", resume_words(status));
  show_restarts(status, page);
  page.item("not warm", status.cold);
  if (!status.decision.empty()) {
    const std::string ago = fmt::format(" ({} ago)", base::duration_words(status.decided));
    page.item("last", status.decision + (is_live(status) ? ago : ""));
  }
  page.item("directory", status.run_directory);
  page.item("logs", status.log_directory);
  page.item("console", status.console_log);
  page.item("metrics", status.metrics_url);
  show_nodes(status, nodes_max, page);
  return page.take();
}

}  // namespace robustrun::supervisor
