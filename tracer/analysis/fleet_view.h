#pragma once
// An index of a FleetSnapshot: the members of each communicator, and each member's earliest
// unfinished collective.
//
// Borrows the snapshot, which must outlive the view. Snapshots are not trusted: of duplicate ranks
// or memberships one is kept, members without a valid place in their communicator are left out, and
// the size of a communicator is the median of the sizes that its members report. `at` is an index
// for rank(), never a rank's number.

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
  bool counts = false;  // false: its progress is unknown, and the members below are not set
  Place place = Place::kAbsent;
  std::uint64_t ordinal = 0;  // of its earliest unfinished collective
  const Operation* pending = nullptr;  // that collective; nullptr: not entered, or not listed
  base::Nanos age{};  // since it was entered; 0: not entered
};

struct Communicator {
  std::uint64_t key = 0;
  std::uint32_t size = 0;  // at least members.size()
  std::uint32_t uncounted = 0;  // members without a snapshot, or whose progress is unknown
  std::vector<Member> members;  // ascending by rank in the communicator

  // The member with this rank in the communicator; nullptr: it has no snapshot.
  [[nodiscard]] const Member* find(std::int64_t rank) const;
};

// The position of a member in FleetView::comms().
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
  [[nodiscard]] bool is_stopped(std::uint32_t at) const;  // false for a dead rank

  // For people: the name of the layout's group with the same members or, without such a group, the
  // communicator's own name, which may be empty.
  [[nodiscard]] std::string group_name(const Communicator& comm) const;
  // The signature of the collective `ordinal` that most members have; nullopt: no member has a
  // record of it.
  [[nodiscard]] std::optional<Signature> signature(const Communicator& comm,
                                                   std::uint64_t ordinal) const;
  // Global ranks of the members that have no snapshot; empty if they cannot be determined.
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
