#include "agent/copies/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "agent/copies/limits.h"
#include "base/io/log.h"
#include "checkpoint/memory/staging.h"

namespace robustrun::agent {
namespace {

using checkpoint::MemoryArea;
using checkpoint::SlotState;

constexpr std::size_t kSequenceAt = 16;  // docs/formats/memory-copy.md
constexpr std::size_t kHintBytes = kSequenceAt + sizeof(std::uint64_t);

bool is_complete(SlotState state) {
  return state == SlotState::kComplete || state == SlotState::kDrained;
}

std::uint64_t sequence_in(const char* slot) {
  std::uint64_t sequence = 0;
  std::memcpy(&sequence, slot + kSequenceAt, sizeof sequence);
  return sequence;
}

}  // namespace

base::Result<GivenMemory> same_memory(const GivenMemory& given) {
  base::Fd copy(::fcntl(given.memory.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return base::fail_errno("cannot pass memory on", errno);
  return GivenMemory{std::move(copy), given.bytes};
}

base::Result<GivenMemory> reserve_copy_memory(std::uint64_t bytes) {
  if (bytes > checkpoint::available_memory() / kCopiesMemoryShare) {
    return base::fail(base::Errc::kLimit, "this node has too little memory for copies of " +
                                              std::to_string(bytes) + " bytes");
  }
  return GivenMemory{RR_TRY(checkpoint::make_sealed_memory(bytes)), bytes};
}

base::Result<GivenMemory> reserve_area(std::uint64_t slot_bytes, bool with_board) {
  if (with_board) {
    const auto bytes = checkpoint::area_bytes(slot_bytes, true);
    auto made = bytes ? reserve_copy_memory(*bytes) : std::unexpected(bytes.error());
    if (made) return made;
    RR_LOG(kInfo, {}, "copies in memory are not held for peers: {}", made.error().what);
  }
  return reserve_copy_memory(RR_TRY(checkpoint::area_bytes(slot_bytes)));
}

GivenMemory widened(GivenMemory given) {
  auto from = same_memory(given);
  auto to = reserve_area(slot_bytes_of(given), true);
  if (!from || !to || !has_board(*to)) return given;
  auto mapped = same_memory(*to);
  const auto old_area = MemoryArea::shared(std::move(from->memory));
  const auto area = mapped ? MemoryArea::shared(std::move(mapped->memory))
                           : std::unexpected(std::move(mapped).error());
  if (!old_area || !area) return given;
  for (const checkpoint::FoundCopy& found : checkpoint::complete_copies(*old_area)) {
    std::ranges::copy(old_area->slot(found.slot), area->slot(found.slot).begin());
  }
  return *std::move(to);
}

bool has_board(const GivenMemory& given) {
  const auto shape = checkpoint::area_shape(given.bytes);
  return shape && shape->has_board;
}

std::uint64_t slot_bytes_of(const GivenMemory& given) {
  return checkpoint::area_shape(given.bytes).value_or(checkpoint::AreaShape{}).slot_bytes;
}

SlotHint newest_hint(const GivenMemory& given) {
  SlotHint newest;
  const auto shape = checkpoint::area_shape(given.bytes);
  for (std::size_t slot = 0; shape && slot < shape->slots; ++slot) {
    alignas(8) std::array<char, kHintBytes> header{};
    const auto at = static_cast<off_t>(slot * shape->slot_bytes);
    if (::pread(given.memory.get(), header.data(), header.size(), at) != ssize_t{kHintBytes}) {
      continue;
    }
    std::uint32_t state = 0;
    std::memcpy(&state, header.data() + 12, sizeof state);
    const std::uint64_t sequence = sequence_in(header.data());
    if (!is_complete(static_cast<SlotState>(state)) ||
        (newest.complete && sequence <= newest.sequence)) {
      continue;
    }
    newest = {true, sequence};
  }
  return newest;
}

base::Result<CopyView> CopyView::of(const base::Fd& memory, std::uint64_t bytes) {
  const auto shape = checkpoint::area_shape(bytes);
  if (!shape)
    return base::fail(base::Errc::kInvalidArgument, "the memory holds no area for copies");
  void* start = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, memory.get(), 0);
  if (start == MAP_FAILED) return base::fail_errno("cannot map shared memory", errno);
  return CopyView(static_cast<const char*>(start), bytes, *shape);
}

CopyView::CopyView(CopyView&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_), shape_(other.shape_) {}

CopyView::~CopyView() {
  if (start_ != nullptr) ::munmap(const_cast<char*>(start_), bytes_);
}

std::optional<CopyView::Found> CopyView::copy_in(std::size_t slot) const {
  if (slot >= shape_.slots) return std::nullopt;
  Found found{{start_ + slot * slot_bytes(), slot_bytes()}, {}, 0};
  auto copy = checkpoint::read_slot(found.slot);
  if (!copy) return std::nullopt;
  found.copy = *std::move(copy);
  const auto bytes = checkpoint::plan_slot(found.copy);
  if (!bytes || *bytes > slot_bytes()) return std::nullopt;
  found.bytes = *bytes;
  return found;
}

std::vector<CopyView::Found> CopyView::complete_copies() const {
  std::vector<Found> all;
  for (std::size_t slot = 0; slot < shape_.slots; ++slot) {
    if (auto found = copy_in(slot)) all.push_back(*std::move(found));
  }
  std::ranges::sort(all, std::ranges::greater(),
                    [](const Found& each) { return each.copy.sequence; });
  return all;
}

bool CopyView::is_unchanged(const Found& found) {
  return is_complete(checkpoint::slot_state(found.slot)) &&
         sequence_in(found.slot.data()) == found.copy.sequence;
}

}  // namespace robustrun::agent
