#include "bootstrap/hot/resident.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::uint64_t kWindowBytes = std::uint64_t{256} << 20;  // 64 KiB of results at a time

class Mapping {
 public:
  Mapping(int fd, std::uint64_t size)
      : size_(size), start_(::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0)) {}
  ~Mapping() {
    if (is_there()) ::munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] bool is_there() const { return start_ != MAP_FAILED; }
  [[nodiscard]] unsigned char* at(std::uint64_t offset) const {
    return static_cast<unsigned char*>(start_) + offset;
  }

 private:
  std::uint64_t size_;
  void* start_;
};

bool may_be_asked(int fd) {
  struct stat status{};
  const uid_t self = ::geteuid();
  return ::fstat(fd, &status) == 0 && (self == 0 || status.st_uid == self);
}

}  // namespace

std::optional<std::vector<HotRange>> resident_ranges(int fd, std::uint64_t size) {
  if (size == 0 || !may_be_asked(fd)) return std::nullopt;
  const Mapping mapping(fd, size);
  if (!mapping.is_there()) return std::nullopt;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((kWindowBytes + page - 1) / page);
  std::vector<HotRange> ranges;
  for (std::uint64_t base = 0; base < size; base += kWindowBytes) {
    const std::uint64_t length = std::min(kWindowBytes, size - base);
    if (::mincore(mapping.at(base), length, pages.data()) != 0) return std::nullopt;
    for (std::uint64_t offset = base; offset < base + length; offset += page) {
      if ((pages[(offset - base) / page] & 1U) == 0) continue;
      const std::uint64_t bytes = std::min(page, size - offset);
      if (!ranges.empty()) {
        HotRange& last = ranges.back();
        if (offset - (last.offset + last.length) <= kRangeGapMax) {
          last.length = offset + bytes - last.offset;
          continue;
        }
      }
      if (ranges.size() == kHotRangesMax) return std::nullopt;
      ranges.push_back({offset, bytes});
    }
  }
  return ranges;
}

}  // namespace robustrun::bootstrap
