#include "topo/read/slurm_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/core/text.h"
#include "topo/limits.h"
#include "topo/network/complaint.h"

namespace robustrun::topo {
namespace {

using base::Result;

// Maximum number of sizes; Slurm has 16 levels of blocks.
constexpr std::uint32_t kJoinedMax = 1U << 15;

// The number of base blocks in a block of each level.
Result<std::vector<std::uint32_t>> joined_counts(const SlurmBlockSizes& sizes,
                                                 std::string_view source) {
  if (sizes.nodes.empty()) return std::vector<std::uint32_t>{1, 2, 4, 8, 16};
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t size : sizes.nodes) {
    const std::uint32_t count = size / sizes.nodes.front();
    const bool fits = size % sizes.nodes.front() == 0 && std::has_single_bit(count) &&
                      count <= kJoinedMax && (counts.empty() || count > counts.back());
    if (!fits) {
      return cannot_use(source, sizes.line,
                        fmt::format("invalid block size {}: each must be 2, 4, 8, ... times the "
                                    "first one, which is {}, and larger than the previous one",
                                    size, sizes.nodes.front()));
    }
    counts.push_back(count);
  }
  return counts;
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_block_sizes(std::string_view text, std::string_view source,
                                                     std::uint32_t line) {
  std::vector<std::uint32_t> sizes;
  for (const std::string_view piece : base::split(text, ',')) {
    const auto size = base::parse_int<std::uint32_t>(piece);
    if (!size || *size == 0) {
      return cannot_use(source, line,
                        fmt::format("BlockSizes must be numbers of nodes such as 8,16,32, not '{}'",
                                    base::printable(text.substr(0, kNameBytesMax))));
    }
    sizes.push_back(*size);
  }
  return sizes;
}

base::Status add_blocks(const std::vector<SlurmBlock>& blocks, const SlurmBlockSizes& sizes,
                        Description& description) {
  const auto counts = RR_TRY(joined_counts(sizes, description.source));
  // By block: its switch on the level below; empty: no nodes.
  std::vector<std::string> below;
  for (const SlurmBlock& block : blocks) {
    below.push_back(block.nodes.empty() ? "" : block.name);
    if (block.nodes.empty()) continue;
    description.switches.push_back({block.name, {}, block.nodes, "block", block.line});
  }
  for (std::size_t level = 1; level < counts.size(); ++level) {
    if (counts[level - 1] >= blocks.size()) break;
    std::vector<std::string> joined(blocks.size());
    for (std::size_t first = 0; first < blocks.size(); first += counts[level]) {
      const std::size_t end = std::min<std::size_t>(first + counts[level], blocks.size());
      SwitchEntry entry;
      entry.name = blocks[first].name;
      if (end - first > 1) entry.name += ".." + blocks[end - 1].name;
      // The last blocks may be those of the level below.
      if (counts[level - 1] >= end - first) entry.name += fmt::format("/{}", counts[level]);
      for (std::size_t at = first; at < end; ++at) {
        if (below[at].empty() || (at > first && below[at] == below[at - 1])) continue;
        entry.switches.push_back(below[at]);
      }
      if (entry.switches.empty()) continue;
      for (std::size_t at = first; at < end; ++at) joined[at] = entry.name;
      entry.level = fmt::format("{}-blocks", counts[level]);
      entry.line = blocks[first].line;
      description.switches.push_back(std::move(entry));
    }
    below = std::move(joined);
  }
  return {};
}

}  // namespace robustrun::topo
