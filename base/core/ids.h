#pragma once
// Strong ids: a rank cannot be passed where a node is expected.
//
// Each id is an integer with a type of its own, ordered by value. `value` is public because
// messages, journal and console show it.

#include <compare>
#include <cstdint>

namespace robustrun::base {

template <class Tag, class Rep>
struct Id {
  using Representation = Rep;
  Rep value{};
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

// Global rank of a worker in the job: 0 .. world size - 1.
using Rank = Id<struct RankTag, std::uint32_t>;
// Rank of a worker on its node: 0 .. local world size - 1.
using LocalRank = Id<struct LocalRankTag, std::uint32_t>;
// Index of a node in the job's node list; stable over restarts.
using NodeId = Id<struct NodeTag, std::uint32_t>;
// Counts the starts of the worker group: 0 for the first. In native mode workers see it as
// TORCHELASTIC_RESTART_COUNT.
using Attempt = Id<struct AttemptTag, std::uint32_t>;
// Counts the agents started for one node; messages of an older agent are dropped. Not the
// generation of a checkpoint store.
using Generation = Id<struct GenerationTag, std::uint32_t>;

}  // namespace robustrun::base
