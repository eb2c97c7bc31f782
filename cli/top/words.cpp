#include "cli/top/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/status/changes.h"

namespace robustrun::cli {
namespace {

using supervisor::AgentStatus;
using supervisor::HangStatus;
using supervisor::JobState;
using supervisor::NodeStatus;
using supervisor::RunStatus;
using supervisor::SupervisorStatus;

constexpr std::size_t kRanksNamed = 4;
constexpr double kMiB = 1024 * 1024;

// "512 MB", "1.2 GB"
std::string size_words(double bytes) {
  constexpr double kMega = 1e6, kGiga = 1e9;
  if (bytes < kGiga) return fmt::format("{:.0f} MB", bytes / kMega);
  return fmt::format("{:.1f} GB", bytes / kGiga);
}

// Parts of a second do not matter here.
std::string whole_seconds(base::Nanos time) {
  return fmt::format("{} s", std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

std::string operation_of(const HangStatus& hang) {
  if (hang.operation.empty()) return "";
  return fmt::format(" in {}{}", hang.operation,
                     hang.ordinal > 0 ? fmt::format(" #{}", hang.ordinal) : "");
}

std::string blockers_of(const HangStatus& hang) {
  std::string words = ranks_in_words(hang.culprits);
  if (hang.nodes.size() == 1) words += " on " + hang.nodes.front();
  return words;
}

Headline hang_headline(const HangStatus& hang) {
  const bool is_slow = tracer::is_slowness(hang.finding);
  const CellState state = is_slow ? CellState::kSlow : CellState::kBlocks;
  if (hang.culprits.empty()) return {hang.sentence, "", state};
  const bool is_one = hang.culprits.size() == 1;
  std::string where;
  if (!hang.place.empty()) where = (is_one ? "it is in " : "they are in ") + hang.place;
  if (is_slow) {
    return {blockers_of(hang) + (is_one ? " slows" : " slow") + " the job down", where, state};
  }
  std::string more = where.empty() ? std::string(tracer::to_string(hang.finding)) : where;
  if (!hang.victims.empty()) {
    more += fmt::format("; {} {}{}", base::counted(hang.victims.size(), "rank"),
                        hang.victims.size() == 1 ? "waits" : "wait",
                        hang.operation.empty() ? "" : " in " + hang.operation);
  }
  return {fmt::format("{} {} blocked the job for {}", blockers_of(hang), is_one ? "has" : "have",
                      age_words(hang.lasting)),
          more, state};
}

// Whom others wait for, or else the node that has been at its stage for the longest time.
std::string slowest_start(const RunStatus& status) {
  if (status.group_wait) return "waiting " + in_words(*status.group_wait);
  const NodeStatus* slowest = nullptr;
  for (const NodeStatus& node : status.nodes) {
    if (node.stage.empty()) continue;
    if (slowest == nullptr || node.stage_took > slowest->stage_took) slowest = &node;
  }
  if (slowest == nullptr) return "";
  std::string text = fmt::format("{} on {}", slowest->stage, slowest->name);
  if (slowest->stage_rank) text += fmt::format(" (rank {})", *slowest->stage_rank);
  return text + " for " + age_words(slowest->stage_took);
}

const char* state_in_words(JobState state) {
  switch (state) {
    case JobState::kJoining: return "waiting for nodes";
    case JobState::kChecking: return "checking the nodes";
    case JobState::kReplaying: return "searching the faulty node";
    case JobState::kPlacing: return "placing the ranks";
    case JobState::kReserving:
    case JobState::kStarting: return "starting the workers";
    case JobState::kStopping: return "stopping the workers";
    case JobState::kBackoff: return "waiting before the restart";
    case JobState::kFinishing: return "ending";
    case JobState::kIdle:
    case JobState::kRunning:
    case JobState::kFinished: break;
  }
  return to_string(state);
}

std::string first_of(const RunStatus& status, const std::vector<NodeCells>& cells,
                     CellState wanted) {
  std::vector<std::uint32_t> ranks;
  std::string node;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (const RankCell& cell : cells[i].ranks) {
      if (cell.state != wanted) continue;
      if (ranks.empty()) node = status.nodes[i].name;
      ranks.push_back(cell.rank);
    }
  }
  if (ranks.empty()) return "";
  return ranks_in_words(ranks) + (ranks.size() == 1 ? " on " + node : "");
}

// Of a run that has ended: "stopping (robustrun stop); 30 s to save, ..." announced what is over.
std::string last_words(const std::string& decision) {
  constexpr std::string_view kStopping = "stopping (";
  if (!decision.starts_with(kStopping)) return decision;
  return fmt::format(
      "stopped ({}",
      std::string_view(decision).substr(0, decision.find("; ")).substr(kStopping.size()));
}

}  // namespace

std::string age_words(base::Nanos time) {
  if (time < std::chrono::minutes(2)) return whole_seconds(std::max(base::Nanos{}, time));
  return time < std::chrono::hours(1) ? base::rough_duration_words(time)
                                      : base::duration_words(time);
}

std::string ranks_in_words(std::span<const std::uint32_t> ranks) {
  if (ranks.empty()) return "no rank";
  std::string words = fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", ranks.front());
  const std::size_t named = ranks.size() > kRanksNamed ? kRanksNamed - 1 : ranks.size();
  for (std::size_t i = 1; i < named; ++i) {
    words += fmt::format("{}{}", i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  }
  if (named < ranks.size()) words += fmt::format(" and {} more", ranks.size() - named);
  return words;
}

Headline headline_of(const RunStatus& status, const std::vector<NodeCells>& cells) {
  if (status.exit_code) {
    const bool is_good = *status.exit_code == 0;
    return {fmt::format("ended after {} with exit code {}", age_words(status.uptime),
                        *status.exit_code),
            last_words(status.decision), is_good ? CellState::kRunning : CellState::kFailed};
  }
  if (status.supervisor == SupervisorStatus::kSilent && status.is_busy) {
    return {"the supervisor is busy or stopped; this is from its journal", "trying again",
            CellState::kSilent};
  }
  if (status.supervisor == SupervisorStatus::kSilent) {
    return {"the supervisor does not answer; this is from its journal",
            "to take over, if it is gone: robustrun resume " + status.run_id, CellState::kLost};
  }
  if (status.hang) return hang_headline(*status.hang);
  for (const CellState state : {CellState::kFailed, CellState::kLost}) {
    const std::string ranks = first_of(status, cells, state);
    if (ranks.empty()) continue;
    const char* const what = state == CellState::kFailed ? " failed" : " lost the node's agent";
    return {ranks + what, status.decision, state};
  }
  if (status.state != JobState::kRunning) {
    const bool is_failure =
        status.state == JobState::kStopping || status.state == JobState::kBackoff;
    return {state_in_words(status.state), is_failure ? status.decision : slowest_start(status),
            is_failure ? CellState::kWaits : CellState::kStarting};
  }
  const std::string silent = first_of(status, cells, CellState::kSilent);
  if (!silent.empty()) return {silent + ": the node is silent", "", CellState::kSilent};
  const std::string behind = first_of(status, cells, CellState::kBehind);
  if (!behind.empty()) return {behind + ": steps behind the others", "", CellState::kBehind};
  const std::string stage = status.steps == 0 ? slowest_start(status) : "";
  if (!stage.empty()) return {"before the first step", stage, CellState::kStarting};
  if (status.workers == 1) return {"the worker runs", "", CellState::kRunning};
  return {fmt::format("all {} ranks run, none is blocked", status.workers), "",
          CellState::kRunning};
}

std::string progress_of(const RunStatus& status) {
  std::vector<std::string> parts;
  const std::int64_t done = status.step.value_or(static_cast<std::int64_t>(status.steps));
  if (status.step || status.steps > 0) parts.push_back(fmt::format("step {}", done));
  const double rate = status.steps_per_second.value_or(0);
  const auto goal = supervisor::step_goal(status.stop_after_steps, status.metrics);
  if (goal && !parts.empty()) parts.back() += fmt::format(" of {}", *goal);
  const bool is_live = !status.exit_code && status.supervisor == SupervisorStatus::kAnswers;
  if (rate >= 1) {
    parts.push_back(fmt::format("{:.3g} steps/s", rate));
  } else if (rate > 0) {
    parts.push_back(fmt::format("{:.3g} s/step", 1 / rate));
  } else if (is_live && status.stepped && status.steps > 0) {
    parts.push_back("no step for " + age_words(*status.stepped));
  }
  const double left = static_cast<double>(goal.value_or(0)) - static_cast<double>(done);
  if (is_live && left > 0 && rate > 0 && left / rate < 1e9) {
    const base::Nanos time = std::chrono::seconds(static_cast<std::int64_t>(left / rate));
    parts.push_back(age_words(time) + " left");
  }
  return base::join(parts, "  ");
}

std::string restarts_of(const RunStatus& status) {
  std::string text =
      status.restarts == 0 ? "no restarts" : base::counted(status.restarts, "restart");
  if (status.max_restarts == 0 || status.exit_code) return text;
  const std::uint32_t left =
      status.max_restarts - std::min(status.max_restarts, status.restarts_used);
  return text + fmt::format(", {} of {} left", left, status.max_restarts);
}

std::string rank_sentence(const RunStatus& status, const NodeStatus& node, const RankCell& cell) {
  const HangStatus* const hang = status.hang ? &*status.hang : nullptr;
  const bool is_culprit = cell.state == CellState::kBlocks || cell.state == CellState::kSlow;
  if (is_culprit && hang != nullptr) return hang->sentence;
  if (cell.state == CellState::kWaits && hang != nullptr) {
    return fmt::format("waits{} for {}{}", operation_of(*hang), ranks_in_words(hang->culprits),
                       hang->group.empty() ? "" : ", in the process group " + hang->group);
  }
  return node_sentence(node, cell.state);
}

std::string use_words(const supervisor::RankUse& use) {
  std::string words = fmt::format("{:.2f} CPUs   {}", use.processors,
                                  size_words(static_cast<double>(use.memory_bytes)));
  if (use.gpus.empty()) return words;
  std::uint32_t percent = 0;
  double bytes = 0;
  for (const tracer::GpuState& gpu : use.gpus) {
    percent += gpu.utilisation_percent;
    bytes += static_cast<double>(gpu.used_mib.value_or(0)) * kMiB;
  }
  const std::size_t count = use.gpus.size();
  words += fmt::format("   {} {:.0f} %", count == 1 ? "GPU" : fmt::format("{} GPUs", count),
                       static_cast<double>(percent) / static_cast<double>(count));
  if (bytes > 0) words += ", " + size_words(bytes);
  return words;
}

std::string node_sentence(const NodeStatus& node, CellState state) {
  const bool is_fine = node.agent == AgentStatus::kJoined;
  if (!is_fine && !node.trouble.empty()) return node.trouble;
  if (node.evicted && !node.node_rank) return "evicted";
  if (!node.stage.empty() && (state == CellState::kStarting || state == CellState::kPending)) {
    return fmt::format("{} for {}", node.stage, age_words(node.stage_took));
  }
  if (node.heard && *node.heard >= supervisor::kNodeSilence) {
    return "no sign of life for " + age_words(*node.heard);
  }
  return "";
}

std::string sparkline(std::span<const double> values, std::size_t width, bool unicode) {
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 8> kAscii = {"_", ".", ",", "-", "~", "=", "*", "#"};
  if (values.size() > width) values = values.subspan(values.size() - width);
  double least = INFINITY;
  double most = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::string line;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      line += '!';
      continue;
    }
    const double part = most > least ? (value - least) / (most - least) : 0;
    const auto level = std::min<std::size_t>(7, static_cast<std::size_t>(std::max(0.0, part * 8)));
    line += unicode ? kBlocks[level] : kAscii[level];
  }
  return line;
}

}  // namespace robustrun::cli
