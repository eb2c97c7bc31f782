#include "cli/top/cells.h"

#include <algorithm>

#include "supervisor/core/status/steps_behind.h"

namespace robustrun::cli {
namespace {

using supervisor::AgentStatus;
using supervisor::HangStatus;
using supervisor::NodeStatus;
using supervisor::RankStatus;
using supervisor::RunStatus;
using supervisor::WorkerStage;

constexpr std::array<CellLook, kCellStates> kLooks = {{
    {'B', Ink::kRed, true, false, true, "blocking"},
    {'X', Ink::kRed, true, false, false, "failed"},
    {'L', Ink::kRed, false, false, false, "node lost"},
    {'S', Ink::kMagenta, true, false, true, "slow"},
    {'?', Ink::kMagenta, false, false, false, "node silent"},
    {'b', Ink::kMagenta, false, false, false, "behind"},
    {'w', Ink::kYellow, false, false, false, "waiting"},
    {'s', Ink::kCyan, false, false, false, "starting"},
    {'-', Ink::kPlain, false, true, false, "not started"},
    {'o', Ink::kPlain, false, true, false, "stopped"},
    {'.', Ink::kGreen, false, false, false, "running"},
    {'d', Ink::kGreen, false, true, false, "done"},
    {'+', Ink::kBlue, false, false, false, "spare"},
    {'x', Ink::kPlain, false, true, false, "out of the run"},
}};

bool is_among(const std::vector<std::uint32_t>& ranks, std::uint32_t rank) {
  return std::ranges::binary_search(ranks, rank);
}

// Of the ranks of one node.
class Judge {
 public:
  explicit Judge(const RunStatus& status)
      : hang_(status.hang ? &*status.hang : nullptr),
        steps_(status),
        is_up_(status.state == supervisor::JobState::kRunning) {}

  [[nodiscard]] CellState state_of(const NodeStatus& node, std::uint32_t local) const {
    const RankStatus& rank = node.ranks[local];
    const std::uint32_t number = node.first_rank + local;
    if (rank.state == WorkerStage::kFailed) return CellState::kFailed;
    if (node.agent == AgentStatus::kLost) return CellState::kLost;
    if (rank.state == WorkerStage::kRunning && hang_ != nullptr) {
      const bool is_slow = tracer::is_slowness(hang_->finding);
      if (is_among(hang_->culprits, number)) {
        return is_slow ? CellState::kSlow : CellState::kBlocks;
      }
      if (!is_slow && is_among(hang_->victims, number)) return CellState::kWaits;
    }
    switch (rank.state) {
      case WorkerStage::kPending:
        return node.stage.empty() ? CellState::kPending : CellState::kStarting;
      case WorkerStage::kSucceeded: return CellState::kDone;
      case WorkerStage::kStopped: return CellState::kStopped;
      case WorkerStage::kFailed:
      case WorkerStage::kRunning: break;
    }
    if (node.agent == AgentStatus::kSuspect) return CellState::kSilent;
    if (rank.steps == 0 && (!node.stage.empty() || !is_up_)) return CellState::kStarting;
    return steps_.is_behind(rank.steps) ? CellState::kBehind : CellState::kRunning;
  }

 private:
  const HangStatus* hang_;  // null: none
  supervisor::StepsBehind steps_;
  bool is_up_;
};

CellState state_without_ranks(const NodeStatus& node, bool has_group) {
  if (node.evicted) return CellState::kOut;
  switch (node.agent) {
    case AgentStatus::kStarting: return CellState::kStarting;
    case AgentStatus::kJoined: return has_group ? CellState::kSpare : CellState::kStarting;
    case AgentStatus::kSuspect: return CellState::kSilent;
    case AgentStatus::kLost: return CellState::kOut;
  }
  return CellState::kOut;
}

}  // namespace

const CellLook& look_of(CellState state) { return kLooks.at(static_cast<std::size_t>(state)); }

bool is_trouble(CellState state) { return state <= CellState::kBehind; }

std::vector<NodeCells> cells_of(const RunStatus& status) {
  const Judge judge(status);
  const bool has_group = status.workers > 0;
  std::vector<NodeCells> cells(status.nodes.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const NodeStatus& node = status.nodes[i];
    if (node.ranks.empty()) {
      cells[i].state = state_without_ranks(node, has_group);
      continue;
    }
    cells[i].state = CellState::kOut;
    for (std::uint32_t local = 0; local < node.ranks.size(); ++local) {
      const CellState state = judge.state_of(node, local);
      cells[i].ranks.push_back({node.first_rank + local, state});
      cells[i].state = std::min(cells[i].state, state);
    }
  }
  return cells;
}

std::array<std::uint32_t, kCellStates> count_states(const std::vector<NodeCells>& nodes) {
  std::array<std::uint32_t, kCellStates> counts{};
  for (const NodeCells& node : nodes) {
    if (node.ranks.empty()) ++counts.at(static_cast<std::size_t>(node.state));
    for (const RankCell& cell : node.ranks) ++counts.at(static_cast<std::size_t>(cell.state));
  }
  return counts;
}

}  // namespace robustrun::cli
