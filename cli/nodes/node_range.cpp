#include "cli/nodes/node_range.h"

#include <fmt/core.h>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"

namespace robustrun::cli {

using base::Errc;
using base::fail;
using base::Result;

Result<std::pair<std::uint32_t, std::uint32_t>> parse_nnodes(std::string_view text) {
  const auto pieces = base::split(text, ':');
  const auto least = parse_integer(pieces.front());
  const auto most = parse_integer(pieces.back());
  if (pieces.size() > 2 || !least || !most) {
    return fail(Errc::kInvalidArgument,
                fmt::format("nnodes={} is not in \"MIN:MAX\" format; write 2 or 1:4", text));
  }
  if (*least < 1 || *least > *most || *most > std::int64_t{kNodesMax}) {
    return fail(Errc::kInvalidArgument,
                fmt::format("min_nodes must be > 0 and <= max_nodes, got min_nodes={}, "
                            "max_nodes={}",
                            *least, *most));
  }
  return std::pair(static_cast<std::uint32_t>(*least), static_cast<std::uint32_t>(*most));
}

Result<std::pair<std::uint32_t, std::uint32_t>> node_counts(const Settings& settings) {
  auto counts = parse_nnodes(settings.text(OptionId::kNnodes));
  if (counts) return counts;
  return cannot_use(settings, OptionId::kNnodes, counts.error().code, counts.error().what);
}

}  // namespace robustrun::cli
