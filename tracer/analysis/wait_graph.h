#pragma once
// Rule R0: who waits for whom, from the earliest unfinished operation of every rank in every
// communicator.
//
// A rank that is inside an operation waits for every member that has not come so far, and for dead
// and frozen members; one whose GPU has not reached its operation waits for no peer, but for its
// own older work. Point-to-point operations are matched by counting them per peer and direction.
// Who is waited for and waits for nobody is a sink: the culprit, unless it is a member that nobody
// sees. Ranks that wait for each other without an exit form a knot.
//
// Ranks of one communicator wait for the same members; so its edges go over a node per distance,
// and there are O(memberships) of them.

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
  Signature signature;        // kind kUnknown: not told
  std::uint64_t ordinal = 0;
  base::Nanos age{};
  std::int32_t peer = -1;     // of send and recv: rank in the communicator
  bool has_edges = false;     // somebody has not come; else everybody is inside
};

// What a sink is to those who wait for it, worst first.
enum class Guilt : std::uint8_t {
  kDead,
  kStopped,
  kQueued,     // its own GPU has not reached an operation
  kBehind,     // inside an operation that a peer has finished
  kCalled,     // inside the library's call, which launches nothing
  kAbsent,     // has not entered, and is in no other operation
  kOccupied,   // inside another operation that everybody has entered: it tells nothing
};

struct Blame {
  std::uint32_t at = 0;
  Guilt guilt = Guilt::kAbsent;
  std::uint32_t comm = 0;     // where the longest wait for it is
  std::uint64_t ordinal = 0;  // that it has not entered, or not finished
  Signature signature;        // of send and recv, as it should have called it; else kUnknown
  base::Nanos age{};          // of the longest wait that leads straight to it
};

class WaitGraph {
 public:
  // `elsewhere[at]`: its stack proves that it is in no operation, whatever is pending, or it is
  // silent.
  [[nodiscard]] static WaitGraph of(const FleetView& view, const std::vector<bool>& elsewhere);

  [[nodiscard]] const std::vector<Wait>& waits() const { return waits_; }
  [[nodiscard]] base::Nanos longest_wait() const;
  // Sinks, ascending; those with short waits beside a longer one are left out.
  [[nodiscard]] const std::vector<Blame>& blames() const { return blames_; }
  // Communicators whose members wait for somebody that nobody sees and for nobody else.
  [[nodiscard]] const std::vector<std::uint32_t>& unseen() const { return unseen_; }
  // Ranks that wait for each other without an exit, each knot ascending.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& knots() const { return knots_; }
  // Everybody who waits, straight or not, for one of these; ascending, without them.
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
