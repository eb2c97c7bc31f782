#pragma once
// The indices of all sources of a specification, one copy of them for all ranks of a machine.
//
// The first rank reads the indices and writes them to a file in a folder that the ranks of one run
// share; all ranks map that file (docs/formats/data-index.md). Its name has a hash of the paths,
// sizes and times of all that was indexed, so ranks of a later attempt use it again, unless the
// data has changed. If the folder has no room, each rank keeps a copy of its own. Blocks.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "loader/index/source_index.h"

namespace robustrun::loader {

// `shared`: that folder, which only this user may write to; empty: the ranks share nothing.
// Relative paths of the specification are relative to `folder`. Errors: those of read_index(), with
// exact lengths.
[[nodiscard]] base::Result<std::vector<SourceIndex>> read_indices(const Spec& spec,
                                                                  const std::string& folder,
                                                                  const std::string& shared);

}  // namespace robustrun::loader
