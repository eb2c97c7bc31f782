#pragma once
// Where a run's time went, as rows of characters: a row for each kind of time, a column for each
// part of the run. Pure.

#include <string>
#include <vector>

#include "cli/top/canvas.h"
#include "cli/top/facts.h"

namespace robustrun::cli {

struct StyledLine {
  std::string text;
  Style style;
};

// Lines are at most `columns` wide, or as wide as the names and the shortest bars need. Empty
// before the journal has been read.
[[nodiscard]] std::vector<StyledLine> timeline_lines(const RunFacts& facts, std::size_t columns,
                                                     bool unicode);

}  // namespace robustrun::cli
