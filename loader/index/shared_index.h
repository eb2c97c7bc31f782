#pragma once
// The indices of all sources of a specification, one copy of them for all ranks of a machine.
//
// The first rank reads the indices and writes them to a file in a folder that the ranks of one run
// share; all ranks map that file (docs/formats/data-index.md). Its name has a hash of the paths,
// sizes and times of all that was indexed, so ranks of a later attempt use it again, unless the
// data has changed. Each rank checks the contents against their hashes, as a machine that fails can
// leave a file with holes. If the folder has no room, each rank keeps a copy of its own. Blocks.

#include <cstdint>
#include <optional>
#include <span>
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

// The data sets of each source, as prefixes.
using TokenSets = std::vector<std::vector<std::string>>;

// What is in such a file, as spans of `bytes`, whose address is a multiple of 8; nullopt: it is not
// laid out as an index of `sets` with this key. Lengths, offsets and fingerprints are not checked.
[[nodiscard]] std::optional<std::vector<SourceIndex>> shared_sources(std::span<const char> bytes,
                                                                     std::uint64_t key,
                                                                     const TokenSets& sets);

}  // namespace robustrun::loader
