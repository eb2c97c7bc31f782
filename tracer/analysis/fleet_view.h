#pragma once
// A FleetSnapshot, sorted: who is a member of what, and which operation each one has yet to finish.
//
// Borrows the snapshot, which must outlive it. Nothing in a snapshot is believed: of ranks or
// memberships that occur twice one is taken, members without a place in their communicator are left
// out, and a size is what most members say. "at" is an index into ranks(), never a rank's number.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::tracer {

// How far a rank is with the earliest collective that it has not finished.
enum class Place : std::uint8_t { kAbsent, kCalled, kQueued, kRunning };

struct Member {
  std::uint32_t at = 0;
  const Membership* view = nullptr;
  bool counts = false;  // else nothing below is known
  Place place = Place::kAbsent;
  std::uint64_t ordinal = 0;  // of that collective
  const Operation* pending = nullptr;  // nullptr: absent, or the source does not list it
  base::Nanos age{};  // since it entered it; 0: absent
};

struct Communicator {
  std::uint64_t key = 0;
  std::uint32_t size = 0;  // as most members say; at least members.size()
  std::uint32_t uncounted = 0;  // members without snapshot, or whose progress is not known
  std::vector<Member> members;  // ascending by rank in it

  // By rank in the communicator; nullptr: no snapshot.
  [[nodiscard]] const Member* find(std::int64_t rank) const;
};

// A place in FleetView::comms.
struct MemberAt {
  std::uint32_t comm = 0;
  std::uint32_t member = 0;
};

class FleetView {
 public:
  explicit FleetView(const FleetSnapshot& fleet);

  [[nodiscard]] const FleetSnapshot& fleet() const { return fleet_; }
  [[nodiscard]] std::uint32_t rank_count() const {
    return static_cast<std::uint32_t>(ranks_.size());
  }
  [[nodiscard]] const RankSnapshot& rank(std::uint32_t at) const { return *ranks_[at]; }
  [[nodiscard]] const std::vector<Communicator>& comms() const { return comms_; }
  [[nodiscard]] const std::vector<MemberAt>& memberships(std::uint32_t at) const {
    return memberships_[at];
  }
  [[nodiscard]] const Member& member(MemberAt where) const {
    return comms_[where.comm].members[where.member];
  }
  [[nodiscard]] std::optional<std::uint32_t> find(base::Rank rank) const;

  [[nodiscard]] bool is_dead(std::uint32_t at) const;
  [[nodiscard]] bool is_stopped(std::uint32_t at) const;  // and not dead

  // For people: the layout's group of the same members, else the communicator's own name; empty
  // when it has none.
  [[nodiscard]] std::string group_name(const Communicator& comm) const;
  // What most members say about the n-th collective; none: nobody remembers it.
  [[nodiscard]] std::optional<Signature> signature(const Communicator& comm,
                                                   std::uint64_t ordinal) const;
  // Global ranks of members that have no snapshot; empty when they cannot be told.
  [[nodiscard]] std::vector<base::Rank> missing_members(const Communicator& comm) const;

 private:
  void index_ranks();
  void index_comms();

  const FleetSnapshot& fleet_;
  std::vector<const RankSnapshot*> ranks_;  // ascending by rank
  std::vector<Communicator> comms_;  // ascending by key
  std::vector<std::vector<MemberAt>> memberships_;
};

}  // namespace robustrun::tracer
