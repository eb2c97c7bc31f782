#pragma once
// The lengths of all samples of a source, from its files. Blocks.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "loader/plan/spec.h"

namespace robustrun::loader {

struct SourceIndex {
  std::vector<std::string> files;      // in the order of their samples
  std::vector<std::uint32_t> lengths;  // tokens of each sample
  bool estimated = false;              // from bytes, since only a transform knows
};

// Paths and patterns that are relative begin at `folder`. A pattern's files are sorted by name. The
// error names the source and the path, also of a pattern that matches nothing.
[[nodiscard]] base::Result<SourceIndex> read_lengths(const Source& source,
                                                     const std::string& folder);

}  // namespace robustrun::loader
