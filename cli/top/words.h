#pragma once
// The sentences of `robustrun top`. Pure.

#include <optional>
#include <span>
#include <string>

#include "cli/top/cells.h"
#include "supervisor/control/view_rows.h"

namespace robustrun::cli {

// "0 s", "12 s", "3 min 5 s", "2 h 05 min"
[[nodiscard]] std::string age_words(base::Nanos time);

// A sentence, more details, and the state whose colour they have.
struct Headline {
  std::string text;
  std::string more;  // may be empty
  CellState state = CellState::kRunning;
};
// What a user should know first: which rank holds up the job, or the state of the job. `cells`:
// cells_of(status).
[[nodiscard]] Headline headline_of(const supervisor::RunStatus& status,
                                   const std::vector<NodeCells>& cells);

// "step 674 of 900  37.2 steps/s  6 s left"
[[nodiscard]] std::string progress_of(const supervisor::RunStatus& status);
// "1 restart, 2 of 3 left"
[[nodiscard]] std::string restarts_of(const supervisor::RunStatus& status);
// "ranks 1, 2, 3 and 6 more"
[[nodiscard]] std::string ranks_in_words(std::span<const std::uint32_t> ranks);

// What the rank does, or what is wrong with it, in a line; may be empty.
[[nodiscard]] std::string rank_sentence(const supervisor::RunStatus& status,
                                        const supervisor::NodeStatus& node, const RankCell& cell);
// "0.98 CPUs   1.2 GB   GPU 87 %, 40.1 GB"
[[nodiscard]] std::string use_words(const supervisor::RankUse& use);
// A node's trouble, stage, or last sign of life; may be empty.
[[nodiscard]] std::string node_sentence(const supervisor::NodeStatus& node, CellState state);

// One character for each of the last `width` values: its height is the value's position between the
// least and the greatest of them. "!": not a finite number.
[[nodiscard]] std::string sparkline(std::span<const double> values, std::size_t width,
                                    bool unicode);

}  // namespace robustrun::cli
