#pragma once
// The first half of rule R0: collects every wait of every rank as edges of a graph. wait_graph.h
// draws the conclusions.

#include <cstdint>
#include <vector>

#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/wait_graph.h"

namespace robustrun::tracer {

inline constexpr base::Nanos kNoWait{-1};  // no rank waits for this one

// The nodes are the ranks, then one per communicator for its unseen members, then one per
// communicator and distance, which leads to all members that are at most that far.
struct WaitEdges {
  struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    friend auto operator<=>(const Edge&, const Edge&) = default;
  };
  std::uint32_t nodes = 0;
  std::vector<Edge> edges;
  std::vector<Wait> waits;
  std::vector<base::Nanos> waited;  // by node: longest direct wait for it, or kNoWait
  std::vector<std::vector<base::Nanos>> member_waited;  // the same by communicator and member
  std::vector<bool> inside;         // by rank: it has an unfinished operation
  std::vector<bool> waits_itself;   // by rank: it is among `waits`
  // By rank, at rest: others have finished an operation that is pending here and that needed this
  // rank. It waits for no rank, whatever else is pending: its GPU or its record is stuck.
  std::vector<bool> behind;
  std::vector<Blame> behind_blames;  // sorted by rank
  std::vector<std::uint64_t> head;  // by communicator: earliest collective that a rank is inside
  std::vector<Blame> peer_blames;  // from sends and receives; by rank, longest wait first
};

[[nodiscard]] WaitEdges wait_edges(const FleetView& view);

// Whether the member is inside a collective that needs all members and that another has finished.
[[nodiscard]] bool is_behind(const FleetView& view, const Communicator& comm, const Member& member);

// Whether the rank is dead or stopped: it will not come, so ranks wait for it wherever it is.
[[nodiscard]] bool is_out(const FleetView& view, std::uint32_t at);

// The node of the communicator's unseen members.
[[nodiscard]] inline std::uint32_t unseen_node(const FleetView& view, std::uint32_t comm) {
  return view.rank_count() + comm;
}

}  // namespace robustrun::tracer
