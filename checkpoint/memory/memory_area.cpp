#include "checkpoint/memory/memory_area.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/core/text.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/memory/copies_kept.h"

namespace robustrun::checkpoint {

using base::Errc;
using base::fail;
using base::fail_errno;
using base::Fd;
using base::Result;

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr std::uint64_t kSlotGrain = 2U << 20U;  // a huge page

// A board takes one grain more, which makes the number of grains odd.
std::optional<AreaShape> area_shape(std::uint64_t bytes) {
  const std::uint64_t grains = bytes / kSlotGrain;
  if (bytes == 0 || bytes > kMemoryBytesMax || bytes % kSlotGrain != 0) return std::nullopt;
  const bool has_board = grains % 2 == 1;
  const std::size_t slots = has_board ? kCopiesWithBoard : kCopiesWithoutBoard;
  const std::uint64_t each = (grains - (has_board ? 1 : 0)) / slots;
  if (each == 0 || each * slots + (has_board ? 1 : 0) != grains) return std::nullopt;
  return AreaShape{slots, each * kSlotGrain, has_board};
}

Result<std::uint64_t> area_bytes(std::uint64_t slot_bytes, bool with_board) {
  if (slot_bytes == 0 || slot_bytes > kMemoryBytesMax / kCopiesMax - 2 * kSlotGrain) {
    return fail(Errc::kLimit, fmt::format("cannot keep copies of {} bytes in memory", slot_bytes));
  }
  const std::uint64_t each = (slot_bytes + kSlotGrain - 1) / kSlotGrain * kSlotGrain;
  return with_board ? each * kCopiesWithBoard + kSlotGrain : each * kCopiesWithoutBoard;
}

std::uint64_t available_memory() {
  const auto text = base::read_file("/proc/meminfo", 64U << 10U);
  if (!text) return 0;
  constexpr std::string_view kKey = "MemAvailable:";
  const std::size_t at = text->find(kKey);
  if (at == std::string::npos) return 0;
  const std::size_t first = text->find_first_not_of(' ', at + kKey.size());
  if (first == std::string::npos) return 0;
  const std::size_t end = text->find(' ', first);
  return base::parse_int<std::uint64_t>(text->substr(first, end - first)).value_or(0) * 1024;
}

// Checked first: reserving more than is free may get another process killed before it fails.
static base::Status check_available(std::uint64_t bytes) {
  const std::uint64_t there = available_memory();
  if (there == 0 || bytes <= there) return {};
  return fail(Errc::kLimit, fmt::format("cannot keep copies in memory: {} bytes are needed, "
                                        "and {} are free",
                                        bytes, there));
}

Result<Fd> make_sealed_memory(std::uint64_t bytes) {
  RR_TRY(check_available(bytes));
  Fd memory(::memfd_create("robustrun-copies", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return fail_errno("cannot make shared memory", errno);
  const std::string what = fmt::format("cannot reserve {} bytes of memory", bytes);
  if (::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) return fail_errno(what, errno);
  if (const int error = ::posix_fallocate(memory.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    return fail_errno(what, error);
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) {
    return fail_errno("cannot seal shared memory", errno);
  }
  return memory;
}

Result<MemoryArea> MemoryArea::own(std::uint64_t slot_bytes) {
  const std::uint64_t bytes = RR_TRY(area_bytes(slot_bytes));
  RR_TRY(check_available(bytes));
  MemoryArea area;
  area.arena_ = RR_TRY(Arena::make(bytes));
  area.bytes_ = bytes;
  area.shape_ = area_shape(bytes).value();
  return area;
}

Result<MemoryArea> MemoryArea::shared(Fd memory, Pages pages) {
  struct stat status{};
  if (::fstat(memory.get(), &status) != 0) return fail_errno("cannot use shared memory", errno);
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const auto shape = area_shape(bytes);
  if (seals < 0 || (seals & kSeals) != kSeals || !shape) {
    return fail(Errc::kInvalidArgument, "cannot use shared memory: it was not made for copies");
  }
  const int flags = MAP_SHARED | (pages == Pages::kNow ? MAP_POPULATE : 0);
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, memory.get(), 0);
  if (start == MAP_FAILED) return fail_errno("cannot map shared memory", errno);
  MemoryArea area;
  area.mapped_ = static_cast<char*>(start);
  area.bytes_ = bytes;
  area.shape_ = *shape;
  return area;
}

MemoryArea::~MemoryArea() {
  if (mapped_ != nullptr) ::munmap(mapped_, bytes_);
}

std::span<char> MemoryArea::slot(std::size_t index) const {
  RR_ASSERT(index < slots());
  char* const start = mapped_ != nullptr ? mapped_ : arena_.data();
  return {start + index * slot_bytes(), slot_bytes()};
}

std::optional<HoldBoard> MemoryArea::board() const {
  if (!shape_.has_board) return std::nullopt;
  return HoldBoard({mapped_ + slots() * slot_bytes(), HoldBoard::kBytes}, slots());
}

void MemoryArea::swap(MemoryArea& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(mapped_, other.mapped_);
  std::swap(bytes_, other.bytes_);
  std::swap(shape_, other.shape_);
}

}  // namespace robustrun::checkpoint
