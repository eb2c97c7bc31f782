#pragma once
// Rule R0: which rank waits for which, from the earliest unfinished operation of every rank in
// every communicator.
//
// A rank inside an operation waits for every member that has not come as far, and for dead or
// stopped members, unless they did their part before. A rank whose GPU has not reached its
// operation waits for no peer, only for its own older work. Point-to-point operations are matched
// by counting them per peer and direction. A rank that others wait for and that waits for no rank
// is a sink: the culprit, unless it is an unseen member. Ranks that wait for each other without an
// exit form a knot.
//
// In one communicator, ranks that have come equally far wait for the same members. So the graph has
// one auxiliary vertex for each such level, through which all edges lead: their number stays
// O(memberships).

#include <cstdint>
#include <vector>

#include "base/core/clock.h"
#include "tracer/analysis/components.h"
#include "tracer/analysis/fleet_view.h"

namespace robustrun::tracer {

// A rank inside an operation.
struct Wait {
  std::uint32_t at = 0;
  std::uint32_t comm = 0;
  Signature signature;  // kind kUnknown: unknown
  std::uint64_t ordinal = 0;
  base::Nanos age{};
  std::int32_t peer = -1;  // for send and recv: rank in the communicator
  bool has_edges = false;  // a member has not come; false: all seen members are inside
};

// Why a sink blocks the ranks that wait for it; the worst first.
enum class Guilt : std::uint8_t {
  kDead,
  kStopped,
  kQueued,  // its own GPU has not reached an operation
  kBehind,  // inside an operation that a peer has finished
  kCalled,  // has called the operation, but the library's call has not launched it
  kAbsent,  // has not entered, and is in no other operation
  kOccupied,  // inside another operation that all have entered: no conclusion
};

struct Blame {
  std::uint32_t at = 0;
  Guilt guilt = Guilt::kAbsent;
  std::uint32_t comm = 0;  // where `guilt` is worst and, if equal, the wait for the rank longest
  std::uint64_t ordinal = 0;  // the operation that the rank has not entered, or not finished
  Signature signature;  // for send and recv: the call that is missing; else kUnknown
  base::Nanos age{};  // of the longest direct wait for the rank there; negative: none
};

class WaitGraph {
 public:
  // `elsewhere[at]`: the rank is in no operation, whatever is pending: its stack proves it, or the
  // rank is silent or has halted.
  [[nodiscard]] static WaitGraph of(const FleetView& view, const std::vector<bool>& elsewhere);

  // Longest first.
  [[nodiscard]] const std::vector<Wait>& waits() const { return waits_; }
  [[nodiscard]] base::Nanos longest_wait() const;
  // Sinks, ascending. Unless the job is at rest, a sink is left out if all waits that lead to it
  // are short compared with the longest wait of the job; one that is dead, stopped or behind never
  // is.
  [[nodiscard]] const std::vector<Blame>& blames() const { return blames_; }
  // Communicators whose members wait for an unseen member.
  [[nodiscard]] const std::vector<std::uint32_t>& unseen() const { return unseen_; }
  // Ranks that wait for each other without an exit, each knot ascending.
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
