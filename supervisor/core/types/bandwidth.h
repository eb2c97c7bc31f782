#pragma once
// How fast the collectives of a process group move their data, as nccl-tests defines it
// (tracer/analysis/operation.h). Plain data: in Progress, in the status and in the report.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "tracer/analysis/operation.h"

namespace robustrun::supervisor {

// The collectives of one kind and size class of one process group. The times are those of the
// member that waited least for the others: they come closest to the time of the transfer itself.
struct Bandwidth {
  std::string group;  // as the library calls it; may be empty
  std::uint32_t first_rank = 0;  // the lowest rank of the group
  std::uint32_t members = 0;  // 0: unknown
  tracer::OpKind kind = tracer::OpKind::kUnknown;
  std::uint32_t size_bits = 0;  // 2^(size_bits-1) ≤ bytes of a collective < 2^size_bits
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // as nccl-tests counts them
  base::Nanos busy{};  // time in which they ran
  template <class V>
  void fields(V& v) {
    v(1, "group", group);
    v(2, "first_rank", first_rank);
    v(3, "members", members);
    v(4, "kind", kind);
    v(5, "size_bits", size_bits);
    v(6, "count", count);
    v(7, "bytes", bytes);
    v(8, "busy", busy);
  }
  // Algorithm and bus bandwidth of nccl-tests, in bytes per second; 0: unknown.
  [[nodiscard]] double algorithm() const;
  [[nodiscard]] double bus() const;
  // Mean bytes of a collective.
  [[nodiscard]] std::uint64_t size() const { return count == 0 ? 0 : bytes / count; }
  // True for the same group, kind and size class.
  [[nodiscard]] bool is_like(const Bandwidth& other) const {
    return group == other.group && first_rank == other.first_rank && members == other.members &&
           kind == other.kind && size_bits == other.size_bits;
  }
};

// A row of status and reports: means and bandwidths in place of the sums.
struct BandwidthRow {
  std::string group;
  std::uint32_t first_rank = 0;
  std::uint32_t members = 0;
  std::string operation;  // "all_reduce"
  std::uint64_t size_bytes = 0;
  std::uint64_t count = 0;
  double algorithm_bytes_per_s = 0;
  double bus_bytes_per_s = 0;  // 0: unknown
  template <class V>
  void fields(V& v) {
    v(1, "group", group);
    v(2, "first_rank", first_rank);
    v(3, "members", members);
    v(4, "operation", operation);
    v(5, "size_bytes", size_bytes);
    v(6, "count", count);
    v(7, "algorithm_bytes_per_s", algorithm_bytes_per_s);
    v(8, "bus_bytes_per_s", bus_bytes_per_s);
  }
};

// Adds up what all attempts have moved. Takes their summaries in order. Each summary has the sums
// of its attempt so far; after a takeover they begin at 0 again, as the new supervisor knows no
// older ones.
class BandwidthFold {
 public:
  void take(std::uint32_t attempt, const std::vector<Bandwidth>& total);
  [[nodiscard]] std::vector<Bandwidth> sums() const;

 private:
  std::uint32_t attempt_ = 0;
  std::vector<Bandwidth> before_;  // what newer summaries do not include
  std::vector<Bandwidth> newest_;
};

// The rows that took most of the time come first.
[[nodiscard]] std::vector<BandwidthRow> rows_of(std::vector<Bandwidth> measured);
// "tp (8 ranks from rank 0): all_reduce of 17 MB at 92.1 GB/s (bus 161 GB/s)"
[[nodiscard]] std::string in_words(const BandwidthRow& row);

}  // namespace robustrun::supervisor
