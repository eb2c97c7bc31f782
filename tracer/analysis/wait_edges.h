#pragma once
// The first half of rule R0: every wait of every rank, as edges of a graph. wait_graph.h draws the
// conclusions.

#include <cstdint>
#include <vector>

#include "tracer/analysis/fleet_view.h"
#include "tracer/analysis/wait_graph.h"

namespace robustrun::tracer {

inline constexpr base::Nanos kNobodyWaits{-1};

// Nodes are the ranks, then one per communicator for members that nobody sees, then one per
// communicator and distance, which leads to everybody who is less far.
struct WaitEdges {
  struct Edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    friend auto operator<=>(const Edge&, const Edge&) = default;
  };
  std::uint32_t nodes = 0;
  std::vector<Edge> edges;
  std::vector<Wait> waits;
  std::vector<base::Nanos> waited;  // by node: longest wait straight to it, or kNobodyWaits
  std::vector<std::vector<base::Nanos>> member_waited;  // the same by communicator and member
  std::vector<bool> inside;         // by rank: it has an unfinished operation
  std::vector<bool> waits_itself;   // by rank: it is among `waits`
  // By rank, of a job at rest: what it has pending others have finished, who could not have without
  // it. Whatever else it has pending, it waits for nobody: its GPU stands, or its record.
  std::vector<bool> behind;
  std::vector<Blame> behind_blames;  // by rank, the first of each
  std::vector<std::uint64_t> head;  // by communicator: earliest collective that anybody is inside
  std::vector<Blame> peer_blames;  // of send and recv; by rank, the longest wait first
};

[[nodiscard]] WaitEdges wait_edges(const FleetView& view);

// Whether the member is inside a collective that needs all of them, and that another has finished.
[[nodiscard]] bool is_behind(const FleetView& view, const Communicator& comm, const Member& member);

// Nobody waits for these as for one who will come: they are waited for wherever they are.
[[nodiscard]] bool is_out(const FleetView& view, std::uint32_t at);

[[nodiscard]] inline std::uint32_t unseen_node(const FleetView& view, std::uint32_t comm) {
  return view.rank_count() + comm;
}

}  // namespace robustrun::tracer
