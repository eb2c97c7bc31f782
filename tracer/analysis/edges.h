#pragma once
// Accuses links, and finds which rank or node several links have in common.

#include <string>
#include <string_view>
#include <vector>

#include "tracer/analysis/accuse.h"

namespace robustrun::tracer {

struct EdgeBlame {
  Accusation accusation;  // complete except the sentence; culprits: the rank that all edges share
  std::string what;  // "the link from rank 3 (…) to rank 4 (…)", "3 links of node2"
  bool is_several = false;  // several links
  [[nodiscard]] const char* is() const { return is_several ? "are" : "is"; }
};

// Accuses `edges` (at least one, between ranks with snapshots) of blocking `wait`. All ranks inside
// an operation of the wait's communicator are victims.
[[nodiscard]] EdgeBlame blame_edges(const Case& facts, Finding finding, const Wait& wait,
                                    std::vector<Edge> edges);

// What several links have in common: at most one rank and one node. Empty for a single link.
struct Common {
  std::vector<base::Rank> ranks;
  std::vector<std::string> nodes;
};
[[nodiscard]] Common common_of(const FleetView& view, const std::vector<Edge>& edges);
// Describes sorted `edges`, by `common` or, if that is empty, by the first edge.
[[nodiscard]] std::string edges_text(const FleetView& view, const std::vector<Edge>& edges,
                                     const Common& common);

// The verdict kSlowLink: "all 3 links of rank 3 (…) are slow: HOW". `edges`: at least one; `lines`:
// a line of evidence for each, worst first.
[[nodiscard]] Verdict slow_edges(const FleetView& view, std::vector<Edge> edges,
                                 std::vector<std::string> lines, std::string_view how);

}  // namespace robustrun::tracer
