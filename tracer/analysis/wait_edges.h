#pragma once
// The first half of rule R0: collects all waits of all ranks as edges of a graph. wait_graph.h
// draws the conclusions.

#include <cstdint>
#include <vector>

#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/wait_graph.h"

namespace robustrun::tracer {

inline constexpr base::Nanos kNoWait{-1};  // as an age: no rank waits

// The graph's nodes are: the ranks; one node per communicator, for its unseen members; and one node
// per communicator and distance (how far members have come), which leads to all members that have
// come at most that far.
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
  std::vector<bool> inside;  // by rank: it has an unfinished operation
  std::vector<bool> waits_itself;  // by rank: it has a row in `waits`
  // By rank, only if the fleet is at rest: an operation that is pending on this rank, and that
  // needs this rank, is finished on others. The rank then waits for no rank, whatever else is
  // pending: its GPU or its record is stuck.
  std::vector<bool> behind;
  std::vector<Blame> behind_blames;  // sorted by rank
  std::vector<std::uint64_t> head;  // by communicator: earliest collective that a rank is inside
  std::vector<Blame> peer_blames;  // from sends and receives; by rank, longest wait first
};

[[nodiscard]] WaitEdges wait_edges(const FleetView& view);

// Whether the member is inside a collective that needs all members and that another member has
// finished.
[[nodiscard]] bool is_behind(const FleetView& view, const Communicator& comm, const Member& member);

// Whether the rank is dead or stopped.
[[nodiscard]] bool is_out(const FleetView& view, std::uint32_t at);

// The node of the communicator's unseen members.
[[nodiscard]] inline std::uint32_t unseen_node(const FleetView& view, std::uint32_t comm) {
  return view.rank_count() + comm;
}

}  // namespace robustrun::tracer
