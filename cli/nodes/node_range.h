#pragma once
// The number of nodes: --nnodes=N or MIN:MAX. Pure.

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/core/result.h"
#include "cli/options/settings.h"

namespace robustrun::cli {

// "2" or "1:4" to (2, 2) or (1, 4).
[[nodiscard]] base::Result<std::pair<std::uint32_t, std::uint32_t>> parse_nnodes(
    std::string_view text);

// --nnodes; the error shows how the user wrote it.
[[nodiscard]] base::Result<std::pair<std::uint32_t, std::uint32_t>> node_counts(
    const Settings& settings);

}  // namespace robustrun::cli
