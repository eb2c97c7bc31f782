#include "tracer/nccl/pairs.h"

#include <atomic>
#include <bit>
#include <cstddef>

#include "tracer/nccl/handle.h"

namespace robustrun::tracer::nccl {
namespace {

constexpr std::size_t kWays = 8;
constexpr std::size_t kRows = std::size_t{1} << 13U;  // 1.6 MiB, touched only if there is a plugin
constexpr std::uint64_t kFree = 0;
constexpr std::uint64_t kBusy = 1;  // no plugin's handle

// `ours` belongs to `theirs` as long as `theirs` does not change. A thread that changes an entry
// first makes it busy.
struct Entry {
  std::atomic<std::uint64_t> theirs, ours;
};
struct Row {
  Entry ways[kWays];
  std::atomic<std::uint32_t> events[kWays];
  std::atomic<std::uint32_t> made[kWays];  // by `next`
  std::atomic<std::uint32_t> next;  // threads that race may make entries with the same number
};
Row g_rows[kRows];

std::uint64_t number_of(const void* pointer) { return std::bit_cast<std::uint64_t>(pointer); }
void* pointer_of(std::uint64_t number) { return std::bit_cast<void*>(number); }

HandleKind kind_of_number(std::uint64_t number) { return unpack(pointer_of(number)).kind; }
bool is_our_handle(std::uint64_t number) { return kind_of_number(number) != HandleKind::kNone; }
bool is_context(std::uint64_t ours) { return kind_of_number(ours) == HandleKind::kContext; }

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

Entry* claim_free(Row& row) {
  for (Entry& entry : row.ways) {
    if (claim(entry, kFree)) return &entry;
  }
  return nullptr;
}

// The entry that was made first, without those of communicators; null: no entry can make room.
Entry* claim_oldest(Row& row) {
  for (std::size_t tried = 0; tried < kWays; ++tried) {
    const std::uint32_t next = row.next.load(std::memory_order_relaxed);
    Entry* oldest = nullptr;
    std::uint64_t its_theirs = kFree;
    std::int32_t its_age = 0;
    for (std::size_t way = 0; way < kWays; ++way) {
      Entry& entry = row.ways[way];
      const std::uint64_t theirs = entry.theirs.load(std::memory_order_acquire);
      if (theirs == kBusy) continue;
      if (theirs != kFree && is_context(entry.ours.load(std::memory_order_acquire))) continue;
      const auto age =
          static_cast<std::int32_t>(next - row.made[way].load(std::memory_order_relaxed));
      if (oldest != nullptr && age <= its_age) continue;
      oldest = &entry;
      its_theirs = theirs;
      its_age = age;
    }
    if (oldest == nullptr) return nullptr;
    if (claim(*oldest, its_theirs)) return oldest;
  }
  return nullptr;
}

void put(Row& row, std::uint64_t theirs, std::uint64_t ours, std::uint32_t events) {
  Entry* entry = find(row, theirs);
  if (entry != nullptr && is_context(entry->ours.load(std::memory_order_acquire)) &&
      !is_context(ours)) {
    return;
  }
  if (entry == nullptr || !claim(*entry, theirs)) entry = claim_free(row);
  if (entry == nullptr) entry = claim_oldest(row);
  if (entry == nullptr) return;
  const auto way = entry - row.ways;
  const std::uint32_t next = row.next.load(std::memory_order_relaxed);
  row.next.store(next + 1, std::memory_order_relaxed);
  row.made[way].store(next, std::memory_order_relaxed);
  // Whoever reads them finds the entry busy after that, or changed.
  row.events[way].store(events, std::memory_order_release);
  entry->ours.store(ours, std::memory_order_release);
  entry->theirs.store(theirs, std::memory_order_release);
}

void remove(std::uint64_t number, bool also_context) {
  Entry* const entry = find(row_of(number), number);
  if (entry == nullptr) return;
  if (!also_context && is_context(entry->ours.load(std::memory_order_acquire))) return;
  if (!claim(*entry, number)) return;
  entry->ours.store(0, std::memory_order_release);
  // Without its entry such a number would be taken for one of ours.
  entry->theirs.store(is_our_handle(number) ? number : kFree, std::memory_order_release);
}

}  // namespace

void* join(void* theirs, void* ours, std::uint32_t events) {
  if (theirs == nullptr) return ours;
  const std::uint64_t number = number_of(theirs);
  if (number == kBusy) return ours;
  // Without a handle of ours there must be no entry of an earlier event, unless the pointer would
  // else be taken for one of ours.
  if (ours != nullptr || is_our_handle(number)) {
    put(row_of(number), number, number_of(ours), events);
  } else {
    remove(number, false);
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

std::uint32_t events_of(void* joined, std::uint32_t otherwise) {
  const std::uint64_t number = number_of(joined);
  if (number <= kBusy) return otherwise;
  Row& row = row_of(number);
  const Entry* const entry = find(row, number);
  if (entry == nullptr || is_context(entry->ours.load(std::memory_order_acquire))) return otherwise;
  const std::uint32_t events = row.events[entry - row.ways].load(std::memory_order_acquire);
  return entry->theirs.load(std::memory_order_relaxed) == number ? events : otherwise;
}

void forget_pair(void* joined) {
  const std::uint64_t number = number_of(joined);
  if (number > kBusy) remove(number, true);
}

}  // namespace robustrun::tracer::nccl
