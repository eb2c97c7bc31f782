#include "agent/copy_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "agent/copy_limits.h"
#include "checkpoint/memory_area.h"

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

SlotHint newest_hint(const GivenMemory& given) {
  SlotHint newest;
  const std::uint64_t slot_bytes = given.bytes / MemoryArea::kSlots;
  for (std::size_t slot = 0; slot < MemoryArea::kSlots; ++slot) {
    alignas(8) std::array<char, kHintBytes> header{};
    const auto at = static_cast<off_t>(slot * slot_bytes);
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
  void* start = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, memory.get(), 0);
  if (start == MAP_FAILED) return base::fail_errno("cannot map shared memory", errno);
  return CopyView(static_cast<const char*>(start), bytes);
}

CopyView::CopyView(CopyView&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_) {}

CopyView::~CopyView() {
  if (start_ != nullptr) ::munmap(const_cast<char*>(start_), bytes_);
}

std::uint64_t CopyView::slot_bytes() const { return bytes_ / MemoryArea::kSlots; }

std::vector<CopyView::Found> CopyView::complete_copies() const {
  std::vector<Found> all;
  for (std::size_t i = 0; i < MemoryArea::kSlots; ++i) {
    Found found{{start_ + i * slot_bytes(), slot_bytes()}, {}, 0};
    auto copy = checkpoint::read_slot(found.slot);
    if (!copy) continue;
    found.copy = *std::move(copy);
    const auto bytes = checkpoint::plan_slot(found.copy);
    if (!bytes || *bytes > slot_bytes()) continue;
    found.bytes = *bytes;
    all.push_back(std::move(found));
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
