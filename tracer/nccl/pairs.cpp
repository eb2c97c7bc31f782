#include "tracer/nccl/pairs.h"

#include <atomic>
#include <bit>
#include <cstddef>

#include "tracer/nccl/handle.h"

namespace robustrun::tracer::nccl {
namespace {

constexpr std::size_t kWays = 8;
constexpr std::size_t kRows = std::size_t{1} << 13U;  // 1 MiB, touched only if there is a plugin
constexpr std::uint64_t kFree = 0;
constexpr std::uint64_t kBusy = 1;  // no plugin's handle

// `ours` belongs to `theirs` as long as `theirs` does not change. A thread that changes an entry
// first makes it busy.
struct Entry {
  std::atomic<std::uint64_t> theirs, ours;
};
struct Row {
  Entry ways[kWays];
  std::atomic<std::uint32_t> next;
};
Row g_rows[kRows];

std::uint64_t number_of(const void* pointer) { return std::bit_cast<std::uint64_t>(pointer); }
void* pointer_of(std::uint64_t number) { return std::bit_cast<void*>(number); }

bool is_our_handle(std::uint64_t number) {
  return unpack(pointer_of(number)).kind != HandleKind::kNone;
}

Row& row_of(std::uint64_t theirs) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
  return g_rows[theirs * kGolden >> (64U - 13U)];
}

Entry* find(Row& row, std::uint64_t theirs) {
  for (Entry& entry : row.ways) {
    if (entry.theirs.load(std::memory_order_acquire) == theirs) return &entry;
  }
  return nullptr;
}

// False: another thread is changing the entry.
bool claim(Entry& entry, std::uint64_t expected) {
  return entry.theirs.compare_exchange_strong(expected, kBusy, std::memory_order_acq_rel);
}

void put(Row& row, std::uint64_t theirs, std::uint64_t ours) {
  Entry* entry = find(row, theirs);
  if (entry == nullptr || !claim(*entry, theirs)) {
    entry = nullptr;
    for (std::size_t tried = 0; tried < kWays && entry == nullptr; ++tried) {
      if (claim(row.ways[tried], kFree)) entry = &row.ways[tried];
    }
    for (std::size_t tried = 0; tried < kWays && entry == nullptr; ++tried) {
      Entry& oldest = row.ways[row.next.fetch_add(1, std::memory_order_relaxed) % kWays];
      const std::uint64_t found = oldest.theirs.load(std::memory_order_relaxed);
      if (found != kBusy && claim(oldest, found)) entry = &oldest;
    }
    if (entry == nullptr) return;
  }
  entry->ours.store(ours, std::memory_order_relaxed);
  entry->theirs.store(theirs, std::memory_order_release);
}

}  // namespace

void* join(void* theirs, void* ours) {
  if (theirs == nullptr) return ours;
  const std::uint64_t number = number_of(theirs);
  if (number == kBusy) return ours;
  Row& row = row_of(number);
  // Without a handle of ours there must be no entry of an earlier event, unless the pointer would
  // else be taken for one of ours.
  if (ours != nullptr || is_our_handle(number)) {
    put(row, number, number_of(ours));
  } else {
    forget_pair(theirs);
  }
  return theirs;
}

void* ours_of(void* joined) {
  const std::uint64_t number = number_of(joined);
  if (number <= kBusy) return nullptr;
  if (const Entry* const entry = find(row_of(number), number)) {
    const std::uint64_t ours = entry->ours.load(std::memory_order_acquire);
    if (entry->theirs.load(std::memory_order_relaxed) == number) return pointer_of(ours);
  }
  return is_our_handle(number) ? joined : nullptr;
}

void* theirs_of(void* joined) {
  const std::uint64_t number = number_of(joined);
  if (number <= kBusy || !is_our_handle(number)) return joined;
  return find(row_of(number), number) != nullptr ? joined : nullptr;
}

void forget_pair(void* joined) {
  const std::uint64_t number = number_of(joined);
  // Without its entry such a number would be taken for one of ours.
  if (number <= kBusy || is_our_handle(number)) return;
  Entry* const entry = find(row_of(number), number);
  if (entry == nullptr || !claim(*entry, number)) return;
  entry->theirs.store(kFree, std::memory_order_release);
}

}  // namespace robustrun::tracer::nccl
