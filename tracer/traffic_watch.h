#pragma once
// How fast a worker's data moves now, compared with before: per kind and size of collectives, and
// per peer. Pure; the caller gives the time. Owned by the agent's CollectiveWatch, one per worker.
//
// The record holds totals (record_collectives.h). Looks at them are joined to windows of at least
// kTrafficWindow; a window's pace is its time per byte. The last kTrafficWindow counts as recent;
// the usual pace is the median of the windows before. Windows in which little data moved have no
// pace.

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "base/core/clock.h"
#include "tracer/analysis/snapshot.h"
#include "tracer/collectives_reader.h"

namespace robustrun::tracer {

class TrafficWatch {
 public:
  // To be called about once a second.
  void look(base::Nanos now, const Traffic& traffic);
  // Adds the recent traffic and the usual pace to the edges and rates of `comms`.
  void describe(std::vector<Membership>& comms) const;
  // Whether collectives of this row take longer per byte than usual.
  [[nodiscard]] bool has_fallen(const Moved& row) const;

 private:
  struct Total {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    base::Nanos time{};
  };
  struct Sample {
    base::Nanos at{};
    Total total;
  };
  // The pace of one row.
  struct Pace {
    std::deque<Sample> recent;  // from the start of the recent window on
    Sample counted;  // end of the newest window in `before`
    std::vector<double> before;  // paces of earlier windows, a ring
    std::size_t next = 0;
    bool is_there = true;  // the last look had the row
    void add(Sample sample, std::uint64_t least_bytes);
    [[nodiscard]] Total moved() const;
    [[nodiscard]] double usual() const;
  };
  using RateKey = std::tuple<std::uint64_t, OpKind, std::uint32_t>;
  using EdgeKey = std::pair<std::uint64_t, std::int32_t>;
  template <class Key>
  void note(std::map<Key, Pace>& paces, const Key& key, Sample sample, std::uint64_t least_bytes);

  template <class Key>
  static void forget_missing(std::map<Key, Pace>& paces);

  std::map<RateKey, Pace> rates_;
  std::map<EdgeKey, Pace> edges_;
};

}  // namespace robustrun::tracer
