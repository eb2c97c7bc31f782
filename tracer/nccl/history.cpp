#include "tracer/nccl/history.h"

#include <bit>
#include <cstddef>

#include "tracer/nccl/words.h"

namespace robustrun::tracer::nccl {
namespace {

// Rows tried for a key, beginning at its hash.
constexpr std::size_t kProbes = 32;

std::uint64_t mixed(std::uint64_t key) {
  key *= 0x9e3779b97f4a7c15;
  return key >> 32U;
}

// The row of `key`, which is added if missing; null if there is no room, which is counted.
template <class Row>
Row* row_of(Tables& t, Row* rows, std::size_t count, std::uint64_t key, std::uint64_t comm) {
  Row* room = nullptr;
  for (std::size_t i = 0; i < kProbes; ++i) {
    Row& row = rows[(mixed(key) + i) % count];
    const std::uint64_t found = get_published(row.key);
    if (found == key) return &row;
    if (found != 0 || room != nullptr) continue;
    room = &row;
  }
  if (room != nullptr) {
    std::uint64_t expected = 0;
    if (exchange(room->key, expected, key)) {
      set(room->comm, comm);
      return room;
    }
    if (expected == key) return room;
  }
  add<std::uint64_t>(t.counters->history_dropped, 1);
  return nullptr;
}

// Of the rows of one communicator for one kind and size of collectives.
std::uint64_t key_of(std::uint16_t comm, OpKind kind, std::uint64_t bytes) {
  return (comm + std::uint64_t{1}) << 32U | static_cast<std::uint64_t>(kind) << 8U |
         static_cast<std::uint64_t>(std::bit_width(bytes));
}

void add_rate(Tables& t, std::uint16_t comm, OpKind kind, const Finished& finished) {
  const std::uint64_t bytes = measured_bytes(kind, finished.bytes, get(t.communicators[comm].size));
  if (bytes == 0 || finished.kernel_ns <= finished.wait_ns) return;
  RecordRate* const row =
      row_of(t, t.rates, kRateSlots, key_of(comm, kind, bytes), get(t.communicators[comm].comm));
  if (row == nullptr) return;
  add<std::uint64_t>(row->count, 1);
  add(row->bytes, bytes);
  add(row->busy_ns, finished.kernel_ns - finished.wait_ns);
}

bool is_of_comm(std::uint64_t key, std::uint16_t comm) { return key >> 32U == comm + 1U; }

std::size_t bucket_of(std::uint64_t ns) {
  const auto bits = static_cast<std::size_t>(std::bit_width(ns));
  if (bits <= kHistogramFirstBit) return 0;
  const std::size_t bucket = bits - 1 - kHistogramFirstBit;
  return bucket < kHistogramBuckets ? bucket : kHistogramBuckets - 1;
}

}  // namespace

void forget_history(Tables& t, std::uint16_t comm) {
  for (std::size_t i = 0; i < kEdgeSlots; ++i) {
    RecordEdge& row = t.edges[i];
    if (!is_of_comm(get(row.key), comm)) continue;
    for (std::uint64_t* word : {&row.comm, &row.sends_entered, &row.sends_done, &row.recvs_entered,
                                &row.recvs_done, &row.bytes, &row.net_wait_ns}) {
      set<std::uint64_t>(*word, 0);
    }
    publish<std::uint64_t>(row.key, 0);
  }
  for (std::size_t i = 0; i < kHistogramSlots; ++i) {
    RecordHistogram& row = t.histograms[i];
    if (!is_of_comm(get(row.key), comm)) continue;
    for (std::uint64_t* word : {&row.comm, &row.count, &row.sum_ns, &row.max_ns}) {
      set<std::uint64_t>(*word, 0);
    }
    for (std::uint32_t& bucket : row.buckets) set<std::uint32_t>(bucket, 0);
    publish<std::uint64_t>(row.key, 0);
  }
  for (std::size_t i = 0; i < kRateSlots; ++i) {
    RecordRate& row = t.rates[i];
    if (!is_of_comm(get(row.key), comm)) continue;
    for (std::uint64_t* word : {&row.comm, &row.count, &row.bytes, &row.busy_ns}) {
      set<std::uint64_t>(*word, 0);
    }
    publish<std::uint64_t>(row.key, 0);
  }
}

void sign(Tables& t, const Task& task, std::uint64_t ordinal) {
  const std::uint64_t entry = add<std::uint64_t>(t.counters->signatures, 1);
  RecordSignature& row = t.signatures[entry % kSignatureSlots];
  set<std::uint64_t>(row.stamp, 0);
  std::atomic_thread_fence(std::memory_order_release);
  set(row.what, ordinal << 24U | static_cast<std::uint64_t>(task.type) << 16U |
                    static_cast<std::uint64_t>(task.kind) << 8U | task.comm);
  set(row.count, task.count);
  set(row.root, task.root);
  set(t.tags[entry % kSignatureSlots], task.tag);
  set(row.comm_part, static_cast<std::uint32_t>(get(t.communicators[task.comm].comm)));
  publish(row.stamp, entry + 1);
}

void keep_time(Tables& t, std::uint16_t comm, OpKind kind, const Finished& finished) {
  const std::uint64_t key_of_comm = get(t.communicators[comm].comm);
  const std::uint64_t entry = add<std::uint64_t>(t.counters->timings, 1);
  RecordTiming& row = t.timings[entry % kTimingSlots];
  set<std::uint64_t>(row.stamp, 0);
  std::atomic_thread_fence(std::memory_order_release);
  set(row.comm, key_of_comm);
  set(row.ordinal, finished.ordinal);
  set(row.kernel_ns, finished.kernel_ns);
  set(row.queued_ns, finished.queued_ns);
  set(row.gap_ns, finished.gap_ns);
  set(row.own_ns, finished.own_ns);
  set(row.ended_at_ns, finished.ended_at_ns);
  publish(row.stamp, entry + 1);

  add_rate(t, comm, kind, finished);
  RecordHistogram* const histogram =
      row_of(t, t.histograms, kHistogramSlots, key_of(comm, kind, finished.bytes), key_of_comm);
  if (histogram == nullptr) return;
  add<std::uint64_t>(histogram->count, 1);
  add(histogram->sum_ns, finished.whole_ns);
  raise(histogram->max_ns, finished.whole_ns);
  add<std::uint32_t>(histogram->buckets[bucket_of(finished.whole_ns)], 1);
}

RecordEdge* edge_to(Tables& t, std::uint16_t comm, std::int32_t peer) {
  if (peer < 0) return nullptr;
  const std::uint64_t key = (comm + std::uint64_t{1}) << 32U | static_cast<std::uint32_t>(peer);
  return row_of(t, t.edges, kEdgeSlots, key, get(t.communicators[comm].comm));
}

}  // namespace robustrun::tracer::nccl
