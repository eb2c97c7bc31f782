#pragma once
// Accusing links: what several of them have in common, in words and as ranks and nodes.

#include <string>
#include <string_view>
#include <vector>

#include "tracer/analysis/accuse.h"

namespace robustrun::tracer {

struct EdgeBlame {
  Accusation accusation;  // with operation and victims; culprits are what all edges share
  std::string what;       // "the link from rank 3 (…) to rank 4 (…)", "all links of node2"
  bool is_several = false;
  [[nodiscard]] const char* is() const { return is_several ? "are" : "is"; }
};

// `edges`: at least one; of ranks that have snapshots. Everybody inside the wait's communicator is
// a victim.
[[nodiscard]] EdgeBlame blame_edges(const Case& facts, Finding finding, const Wait& wait,
                                    std::vector<Edge> edges);

// What links have in common: with several of them a rank, else a node; both empty: nothing.
struct Common {
  std::vector<base::Rank> ranks;
  std::vector<std::string> nodes;
};
[[nodiscard]] Common common_of(const FleetView& view, const std::vector<Edge>& edges);
// Edges as words, sorted; says what they have in common.
[[nodiscard]] std::string edges_text(const FleetView& view, const std::vector<Edge>& edges,
                                     const Common& common);

// A verdict of kSlowLink: "all links of rank 3 (…) are slow: HOW". `edges`: at least one, worst
// first, with a line of evidence each.
[[nodiscard]] Verdict slow_edges(const FleetView& view, std::vector<Edge> edges,
                                 std::vector<std::string> lines, std::string_view how);

}  // namespace robustrun::tracer
