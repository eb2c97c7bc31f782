#pragma once
// Rule R0: which rank waits for which, from the earliest unfinished operation of every rank in
// every communicator.
//
// A rank inside an operation waits for every member that has not come as far, and for each dead or
// stopped member unless it had done its part. A rank whose GPU has not reached its operation waits
// for no peer, only for its own older work. Point-to-point operations are matched by counting them
// per peer and direction. A rank that waits for no rank, while others wait for it, is a sink: a
// culprit. Ranks that wait only for each other form a knot.
//
// In one communicator, ranks that have come equally far wait for the same members. So the graph has
// one auxiliary node for each such level, and all edges lead through these nodes. The number of
// edges thus is O(memberships).

#include <cstdint>
#include <vector>

#include "base/core/clock.h"
#include "tracer/analysis/components.h"
#include "tracer/analysis/fleet_view.h"

namespace robustrun::tracer {

// A rank inside an operation.
struct Wait {
  std::uint32_t at = 0;  // index for FleetView::rank()
  std::uint32_t comm = 0;  // index in FleetView::comms()
  Signature signature;  // kind kUnknown: unknown
  std::uint64_t ordinal = 0;
  base::Nanos age{};
  std::int32_t peer = -1;  // for send and recv: rank in the communicator
  // Some member whose progress is known has not come as far; false: all such members have.
  bool has_edges = false;
};

// Why a sink blocks the ranks that wait for it; the worst reason first.
enum class Guilt : std::uint8_t {
  kDead,
  kStopped,
  kQueued,  // its own GPU has not reached an operation
  kBehind,  // inside an operation that a peer has finished
  kCalled,  // has called the operation, but the library's call has not launched it
  kAbsent,  // has not entered, and is in no other operation
  kOccupied,  // inside another operation, which all have entered: no cause is known
};

// A sink and why it is to blame.
struct Blame {
  std::uint32_t at = 0;
  Guilt guilt = Guilt::kAbsent;
  std::uint32_t comm = 0;  // with the worst guilt or, if equal, the longest wait for the rank
  std::uint64_t ordinal = 0;  // the operation that the rank has not entered, or not finished
  Signature signature;  // for send and recv: the missing call; otherwise kUnknown
  base::Nanos age{};  // of the longest direct wait for the rank in `comm`; negative: none
};

class WaitGraph {
 public:
  // `elsewhere[at]`: the rank is in no operation, whatever is pending, because its stack proves
  // this (is_elsewhere()), or because it is silent or has halted (RankSnapshot).
  [[nodiscard]] static WaitGraph of(const FleetView& view, const std::vector<bool>& elsewhere);

  // Longest first.
  [[nodiscard]] const std::vector<Wait>& waits() const { return waits_; }
  [[nodiscard]] base::Nanos longest_wait() const;
  // Sinks, ascending. A sink is left out if all waits that lead to it are short compared with the
  // longest wait of the job (kShareOfLongestWait), unless it is dead, stopped or behind, or the job
  // is at rest.
  [[nodiscard]] const std::vector<Blame>& blames() const { return blames_; }
  // Communicators whose members wait for an unseen one, whose progress is unknown; as indices in
  // FleetView::comms().
  [[nodiscard]] const std::vector<std::uint32_t>& unseen() const { return unseen_; }
  // Knots: ranks that wait only for each other; each ascending.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& knots() const { return knots_; }
  // All ranks that wait, directly or indirectly, for one of `culprits`; ascending, without the
  // culprits.
  [[nodiscard]] std::vector<std::uint32_t> victims_of(
      const std::vector<std::uint32_t>& culprits) const;

 private:
  friend class GraphBuilder;
  WaitGraph() = default;

  std::uint32_t ranks_ = 0;
  Successors edges_;
  std::vector<Wait> waits_;
  std::vector<Blame> blames_;
  std::vector<std::uint32_t> unseen_;
  std::vector<std::vector<std::uint32_t>> knots_;
};

}  // namespace robustrun::tracer
