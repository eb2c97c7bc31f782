#pragma once
// The indices of all sources of a specification, with one copy for all ranks of a machine. Only the
// index of a source in pieces is each rank's own, because it is small. Blocks.
//
// The first rank reads the indices and writes them to a file in a folder that the ranks of one run
// share; all ranks map that file (docs/formats/data-index.md). The file's name has a hash of the
// paths, sizes and times of all indexed files, so ranks of a later attempt use the file again
// unless the data has changed. Each rank checks the contents against their hashes, because a
// machine that fails can leave a file with holes. If the file cannot be written, each rank keeps
// its own copy.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "loader/index/source_index.h"

namespace robustrun::loader {

// `shared`: the folder for the file, which only this user may write to; empty: the ranks share
// nothing. Relative paths of the specification are relative to `folder`. Errors: those of
// read_index() with Lengths::kExact.
[[nodiscard]] base::Result<std::vector<SourceIndex>> read_indices(const Spec& spec,
                                                                  const std::string& folder,
                                                                  const std::string& shared);

// The data sets of each source, as prefixes (megatron.h).
using TokenSets = std::vector<std::vector<std::string>>;

// Parses a shared file. The result consists of spans of `bytes`, whose address must be a multiple
// of 8. nullopt: `bytes` are not laid out as an index of `sets` with this key. Does not check
// lengths, offsets and fingerprints.
[[nodiscard]] std::optional<std::vector<SourceIndex>> shared_sources(std::span<const char> bytes,
                                                                     std::uint64_t key,
                                                                     const TokenSets& sets);

}  // namespace robustrun::loader
