#pragma once
// Texts for verdicts: ranks, operations, ages. Each is part of one line on a terminal. They may
// contain names from workers; analyze() makes the finished verdict safe to print.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/words.h"
#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/operation.h"

namespace robustrun::tracer {

// " for 4.1 s"; empty for 0 (unknown).
[[nodiscard]] std::string for_text(base::Nanos age);
// "48 MB", "1.5 kB", "12 B": decimal units.
[[nodiscard]] std::string amount_text(std::uint64_t bytes);
// "3", "3 and 7", "3, 7 and 9", "0, 1, …, 7 and 12 more".
[[nodiscard]] std::string list_text(const std::vector<std::uint32_t>& numbers);
// "train.py:30, train.py:41", as many as fit into kSentenceBytes.
[[nodiscard]] std::string lines_text(const std::set<std::string>& lines);
// "rank 11 (node3, local 3)", "ranks 3, 7 and 9 (node1)". `ats`: at least one, ascending.
[[nodiscard]] std::string ranks_text(const FleetView& view, const std::vector<std::uint32_t>& ats);
// "group dp_2", or "16 ranks".
[[nodiscard]] std::string group_text(const FleetView& view, const Communicator& comm);
// "all_reduce #4182 (48 MB, group dp_2)", "send #12 to rank 4 (group pp_0)".
[[nodiscard]] std::string operation_text(const FleetView& view, const Communicator& comm,
                                         std::uint64_t ordinal, const Signature& signature);
// "all_reduce of 1024 float32".
[[nodiscard]] std::string signature_text(const Signature& signature);
// "; 15 ranks wait for it", "; rank 3 waits for them"; empty without victims.
[[nodiscard]] std::string waiting_text(const FleetView& view,
                                       const std::vector<std::uint32_t>& victims, bool for_several);

}  // namespace robustrun::tracer
