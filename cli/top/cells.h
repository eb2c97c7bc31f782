#pragma once
// The state of every rank and node, as `robustrun top` shows it. Pure.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "supervisor/core/status/status.h"

namespace robustrun::cli {

// In the order of urgency. A node has the most urgent state of its ranks.
enum class CellState : std::uint8_t {
  kBlocks,    // other ranks wait for it
  kFailed,
  kLost,      // its node's agent is lost
  kSlow,
  kSilent,    // its node's agent has not been heard for a while
  kBehind,    // some steps behind the median
  kWaits,     // for a rank in kBlocks
  kStarting,  // before its first step
  kPending,
  kStopped,
  kRunning,
  kDone,
  kSpare,     // a node that holds no rank
  kOut,       // a node that is out of the run: evicted, or lost and without ranks
};
inline constexpr std::size_t kCellStates = 14;

enum class Ink : std::uint8_t { kPlain, kGreen, kYellow, kRed, kBlue, kMagenta, kCyan };

// How a state is shown. The letter identifies it without colours.
struct CellLook {
  char letter = ' ';
  Ink ink = Ink::kPlain;
  bool bold = false;
  bool dim = false;
  bool filled = false;  // `ink` colours the background
  std::string_view words;
};
[[nodiscard]] const CellLook& look_of(CellState state);
// Whether a user should look at a rank or node in this state.
[[nodiscard]] bool is_trouble(CellState state);

struct RankCell {
  std::uint32_t rank = 0;
  CellState state = CellState::kPending;
};

// A node; it has the same index in RunStatus::nodes.
struct NodeCells {
  CellState state = CellState::kPending;  // the most urgent of its ranks; without ranks, its own
  std::vector<RankCell> ranks;  // by local rank; empty: the node is not in the group
};

[[nodiscard]] std::vector<NodeCells> cells_of(const supervisor::RunStatus& status);
// How many ranks, or nodes without ranks, are in each state.
[[nodiscard]] std::array<std::uint32_t, kCellStates> count_states(
    const std::vector<NodeCells>& nodes);

}  // namespace robustrun::cli
