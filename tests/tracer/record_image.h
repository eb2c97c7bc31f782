#pragma once
// A progress record in memory, for tests of its readers.

#include <cstring>
#include <string>

#include "tracer/analysis/operation.h"
#include "tracer/progress_record.h"
#include "tracer/record_collectives.h"

namespace robustrun::test {

class RecordImage {
 public:
  RecordImage() : bytes(tracer::kCollectivesEnd, '\0') {
    tracer::ProgressRecord page{};
    page.magic = tracer::kRecordMagic;
    page.major = tracer::kRecordMajor;
    page.minor = tracer::kRecordMinor;
    put(0, 0, page);
    counters.event_mask = 0x56;
  }

  template <class Row>
  void put(std::size_t at, std::size_t slot, const Row& row) {
    std::memcpy(bytes.data() + at + slot * sizeof row, &row, sizeof row);
  }
  void put(std::size_t slot, const tracer::RecordCommunicator& row) {
    put(tracer::kCommunicatorsAt, slot, row);
  }
  void put(std::size_t slot, const tracer::RecordOperation& row) {
    put(tracer::kOperationsAt, slot, row);
  }
  void put(std::size_t slot, const tracer::RecordFlow& row) { put(tracer::kFlowsAt, slot, row); }

  // All of it, counters included.
  [[nodiscard]] std::string file() {
    put(tracer::kCountersAt, 0, counters);
    return bytes;
  }
  [[nodiscard]] std::string communicators() const {
    return bytes.substr(tracer::kCommunicatorsAt, tracer::kOperationsAt - tracer::kCommunicatorsAt);
  }

  std::string bytes;
  tracer::RecordCounters counters{};
};

inline tracer::RecordCommunicator communicator(std::uint64_t comm, std::uint64_t entered,
                                               std::uint64_t started, std::uint64_t done) {
  tracer::RecordCommunicator row{};
  row.in_use = 1;
  row.comm = comm;
  row.size = 8;
  row.rank = 3;
  row.source = static_cast<std::uint32_t>(tracer::RecordSource::kNccl);
  row.entered = entered;
  row.started = started;
  row.done = done;
  row.batch = static_cast<std::uint32_t>(entered);
  row.done_batch = static_cast<std::uint32_t>(done);
  return row;
}

// Operation `ordinal`, of a batch of its own.
inline tracer::RecordOperation operation(std::uint64_t comm, std::uint64_t ordinal,
                                         tracer::RecordPhase phase) {
  tracer::RecordOperation row{};
  row.state = tracer::record_state(5, phase);
  row.generation = 5;
  row.comm = comm;
  row.ordinal = ordinal;
  row.batch = static_cast<std::uint32_t>(ordinal);
  row.kind = static_cast<std::uint8_t>(tracer::OpKind::kAllReduce);
  row.type = static_cast<std::uint8_t>(tracer::DataType::kFloat32);
  row.count = 1000;
  row.root = -1;
  row.channels = 2;
  return row;
}

}  // namespace robustrun::test
