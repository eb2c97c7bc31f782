#include "checkpoint/disk/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {

constexpr std::size_t kHugePageBytes = 2U << 20U;

base::Result<Arena> Arena::make(std::size_t bytes) {
  Arena arena;
  const std::size_t unit = bytes < kHugePageBytes ? kAlignment : kHugePageBytes;
  arena.bytes_ = (bytes + unit - 1) / unit * unit;
  void* start = ::mmap(nullptr, arena.bytes_ + kHugePageBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    arena.bytes_ = 0;
    return base::fail_errno("cannot allocate " + std::to_string(bytes) + " bytes of memory", errno);
  }
  // Unmap what lies before and after the aligned part.
  char* const all = static_cast<char*>(start);
  const std::size_t skip =
      (kHugePageBytes - reinterpret_cast<std::uintptr_t>(all) % kHugePageBytes) % kHugePageBytes;
  arena.start_ = all + skip;
  if (skip > 0) ::munmap(all, skip);
  if (skip < kHugePageBytes) ::munmap(arena.start_ + arena.bytes_, kHugePageBytes - skip);
  ::madvise(arena.start_, arena.bytes_, MADV_HUGEPAGE);
  std::memset(arena.start_, 0, arena.bytes_);
  return arena;
}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Arena::~Arena() {
  if (start_ != nullptr) ::munmap(start_, bytes_);
}

}  // namespace robustrun::checkpoint
