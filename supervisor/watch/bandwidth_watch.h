#pragma once
// How fast the collectives of each process group are, from the agents' reports about single ranks.
// Pure; the caller gives the time. Owned by the driver, one for the run.
//
// A kernel that waits for a late rank takes longer although the transfer is not slow. So only the
// member with the least time per byte counts, as it has waited least. For the same reason a group
// has become slower only if all its members with recent reports have.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/bandwidth.h"
#include "wire/messages/observation.h"

namespace robustrun::supervisor {

class BandwidthWatch {
 public:
  void begin_attempt() { *this = BandwidthWatch(); }
  // True: collectives of a kind and size in `report` have become slower for all members with recent
  // reports.
  bool take(base::Rank rank, const wire::BandwidthReport& report, base::Nanos now);
  // From the newest reports; groups without a report for kBandwidthStale are left out. At most
  // kBandwidthRowsMax rows, those that took most time.
  [[nodiscard]] std::vector<Bandwidth> recent(base::Nanos now) const;
  // Since the attempt began; at most kBandwidthRowsJournaled rows, those that took most time.
  [[nodiscard]] std::vector<Bandwidth> total() const;

 private:
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    base::Nanos busy{};
  };
  struct Member {
    Sum all, newest;
    base::Nanos at{};  // of `newest`
    bool has_fallen = false;
  };
  struct Row {
    std::uint32_t size = 0;
    std::map<base::Rank, Member> members;
  };
  using Key = std::tuple<std::uint64_t, tracer::OpKind, std::uint32_t>;
  template <class Choose>
  [[nodiscard]] std::vector<Bandwidth> gather(const Choose& choose, std::size_t rows_max) const;

  std::map<Key, Row> rows_;
  std::map<std::uint64_t, std::string> names_;
};

}  // namespace robustrun::supervisor
