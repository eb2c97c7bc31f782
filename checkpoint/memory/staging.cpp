#include "checkpoint/memory/staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/core/text.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/manifest_check.h"
#include "checkpoint/memory/copies_kept.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

constexpr std::uint64_t kCopyUnitBytes = 4U << 20U;  // copied by one thread
constexpr std::uint64_t kSampleEveryBytes = 256U << 10U;
constexpr std::uint64_t kSampleBytes = 64;  // a line of the processor's cache

MemoryCopy described(const StageOrder& order, const PartContents& contents) {
  MemoryCopy copy;
  copy.writer = order.writer;
  copy.manifest.head.attempt = order.attempt;
  copy.manifest.head.layout = order.layout;
  copy.manifest.head.mounts = order.directories;
  copy.manifest.head.writers = order.writers;
  copy.manifest.shards = contents.shards;
  copy.manifest.states = contents.states;
  for (Shard& shard : copy.manifest.shards) shard.crc = 0;
  return copy;
}

// Units of the same shard are consecutive.
void add_units(std::vector<CopyUnit>& units, const char* from, char* to, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += kCopyUnitBytes) {
    units.push_back({from + at, to + at, std::min(kCopyUnitBytes, bytes - at), 0});
  }
}

// Removes the units of one shard from the front of `units` and returns the shard's CRC.
std::uint32_t joined_crc(std::span<const CopyUnit>& units, std::uint64_t bytes) {
  std::uint32_t crc = 0;
  for (; bytes > 0; units = units.subspan(1)) {
    crc = crc32c_joined(crc, units.front().crc, units.front().bytes);
    bytes -= units.front().bytes;
  }
  return crc;
}

// A tensor that is modified during the copy changes in most places, so comparing a few samples
// afterwards is enough and costs almost nothing.
Status check_unchanged(const PartContents& contents, const MemoryCopy& copy,
                       std::span<const char> slot) {
  std::uint64_t since = 0;
  for (std::size_t i = 0; i < contents.sources.size(); ++i) {
    const std::string_view source = contents.sources[i];
    const char* const at = slot.data() + copy.offsets[i];
    since += source.size();
    if (since < kSampleEveryBytes) continue;
    since = 0;
    for (std::uint64_t place = 0; place < source.size(); place += kSampleEveryBytes) {
      const std::size_t bytes = std::min(kSampleBytes, source.size() - place);
      if (std::memcmp(source.data() + place, at + place, bytes) != 0) {
        return fail(Errc::kCorrupt, "cannot keep a copy of '" +
                                        base::printable(contents.shards[i].name) +
                                        "': it changed while it was copied");
      }
    }
  }
  return {};
}

}  // namespace

Result<std::uint64_t> Staging::slot_bytes_for(const StageOrder& order,
                                              const PartContents& contents) {
  MemoryCopy copy = described(order, contents);
  return plan_slot(copy);
}

Status Staging::use(MemoryArea area) {
  for (std::size_t slot = 0; slot < kCopiesMax; ++slot) {
    if (is_held(slot)) return fail(Errc::kConflict, "cannot change memory that is being saved");
  }
  area_ = std::move(area);
  board_ = area_.board();
  if (board_) board_->begin_writer();
  sequences_ = {};
  for (const FoundCopy& found : complete_copies(area_)) {
    sequences_[found.slot] = found.copy.sequence;
  }
  return {};
}

void Staging::discard(std::size_t slot) {
  sequences_[slot] = 0;
  if (board_) board_->forget(slot);
  open_slot(area_.slot(slot));
}

Result<std::size_t> Staging::begin_filling() {
  std::vector<std::size_t> oldest_first(area_.slots());
  std::iota(oldest_first.begin(), oldest_first.end(), 0UZ);
  std::ranges::stable_sort(oldest_first, {}, [this](std::size_t slot) { return sequences_[slot]; });
  for (const std::size_t slot : oldest_first) {
    if (!is_held(slot) && (!board_ || board_->begin_filling(slot))) return slot;
  }
  return fail(Errc::kConflict, "cannot keep a copy: every slot is held");
}

Result<std::size_t> Staging::stage(const StageOrder& order, const PartContents& contents) {
  RR_TRY(check_contents(contents));
  MemoryCopy copy = described(order, contents);
  if (auto good = check_memory_copy(copy.manifest); !good) {
    good.error().code =
        Errc::kInvalidArgument;  // the caller described it wrongly; nothing is damaged
    return std::unexpected(std::move(good).error());
  }
  const std::uint64_t bytes = RR_TRY(plan_slot(copy));
  if (bytes > area_.slot_bytes()) {
    return fail(Errc::kLimit, fmt::format("cannot keep a copy of {} bytes: a slot has {}", bytes,
                                          area_.slot_bytes()));
  }
  const std::size_t index = RR_TRY(begin_filling());
  const Status filled = fill(index, copy, contents);
  if (board_) {
    board_->end_filling(index, filled ? std::optional(order.attempt.step) : std::nullopt);
  }
  RR_TRY(filled);
  return index;
}

Status Staging::fill(std::size_t index, MemoryCopy& copy, const PartContents& contents) {
  const std::span<char> slot = area_.slot(index);
  copy.sequence = *std::ranges::max_element(sequences_) + 1;
  sequences_[index] = 0;
  open_slot(slot);
  std::vector<CopyUnit> units;
  for (std::size_t i = 0; i < contents.sources.size(); ++i) {
    add_units(units, contents.sources[i].data(), slot.data() + copy.offsets[i],
              contents.sources[i].size());
  }
  pool_.copy(units);
  std::span<const CopyUnit> left = units;
  for (Shard& shard : copy.manifest.shards) shard.crc = joined_crc(left, shard.bytes);
  RR_TRY(check_unchanged(contents, copy, slot));
  write_slot(slot, copy);
  sequences_[index] = copy.sequence;
  return {};
}

std::vector<FoundCopy> complete_copies(const MemoryArea& area) {
  std::vector<FoundCopy> found;
  for (std::size_t slot = 0; slot < area.slots(); ++slot) {
    if (auto copy = read_slot(area.slot(slot))) found.push_back({slot, *std::move(copy)});
  }
  std::ranges::sort(found, std::ranges::greater(),
                    [](const FoundCopy& each) { return each.copy.sequence; });
  return found;
}

Result<FoundCopy> find_copy(const MemoryArea& area, const AttemptId& attempt) {
  for (FoundCopy& found : complete_copies(area)) {
    if (found.copy.manifest.head.attempt == attempt) return std::move(found);
  }
  return fail(Errc::kNotFound, "there is no copy of that checkpoint in memory");
}

std::optional<std::size_t> first_shard_of(const MemoryCopy& copy, const Manifest& committed) {
  if (copy.manifest.head.attempt != committed.head.attempt) return std::nullopt;
  // A writer's shards are consecutive and in the writer's order.
  const auto is_same = [](const Shard& a, const Shard& b) {
    return a.name == b.name && a.dtype == b.dtype && a.rank == b.rank && a.shape == b.shape &&
           a.offsets == b.offsets && a.global_shape == b.global_shape && a.bytes == b.bytes &&
           a.crc == b.crc;
  };
  const auto found = std::ranges::search(committed.shards, copy.manifest.shards, is_same);
  if (found.empty() && !copy.manifest.shards.empty()) return std::nullopt;
  return static_cast<std::size_t>(found.begin() - committed.shards.begin());
}

Status restore_copy(std::span<const char> slot, const MemoryCopy& copy,
                    std::span<const WantedShard> wanted, CopyPool& pool) {
  std::vector<CopyUnit> units;
  for (const WantedShard& each : wanted) {
    RR_ASSERT(each.shard < copy.manifest.shards.size());
    const Shard& shard = copy.manifest.shards[each.shard];
    RR_ASSERT(each.destination.size() == shard.bytes);
    add_units(units, slot.data() + copy.offsets[each.shard], each.destination.data(), shard.bytes);
  }
  pool.copy(units);
  std::span<const CopyUnit> left = units;
  for (const WantedShard& each : wanted) {
    const Shard& shard = copy.manifest.shards[each.shard];
    if (joined_crc(left, shard.bytes) != shard.crc) {
      return fail(Errc::kCorrupt, "cannot restore tensor '" + base::printable(shard.name) +
                                      "': its copy in memory is damaged");
    }
  }
  return {};
}

Result<Completion> drain_copy(std::span<char> slot, Store& store, const std::string& file_tag) {
  const MemoryCopy copy = RR_TRY(read_slot(slot));
  const Head& head = copy.manifest.head;
  PartContents contents;
  contents.shards = copy.manifest.shards;
  contents.states = copy.manifest.states;
  contents.crcs_known = true;
  contents.file_tag = file_tag;
  for (std::size_t i = 0; i < contents.shards.size(); ++i) {
    contents.sources.emplace_back(slot.data() + copy.offsets[i], contents.shards[i].bytes);
  }
  std::vector<std::string> notes;
  if (!RR_TRY(store.has_part(head.attempt, copy.writer))) {
    RR_TRY(store.join(head.attempt, head.layout, head.writers));
    notes = RR_TRY(store.write_part(head.attempt, copy.writer, contents));
  }
  Completion completion = RR_TRY(store.commit_if_complete(head.attempt, head.attempt.generation));
  mark_drained(slot);
  completion.notes.insert(completion.notes.begin(), notes.begin(), notes.end());
  return completion;
}

}  // namespace robustrun::checkpoint
