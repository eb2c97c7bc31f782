#include "bootstrap/store/direct_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace robustrun::bootstrap {
namespace {

bool is_aligned(std::uint64_t value) { return value % kDirectAlignment == 0; }

// Whether all of it is in the page cache; false if unknown.
bool is_in_page_cache(int fd, std::uint64_t offset, std::size_t length) {
  void* const start =
      ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (start == MAP_FAILED) return false;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((length + page - 1) / page);
  const bool is_known = ::mincore(start, length, pages.data()) == 0;
  ::munmap(start, length);
  return is_known && std::ranges::all_of(pages, [](unsigned char each) { return (each & 1) != 0; });
}

}  // namespace

DirectFile::DirectFile(const std::string& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_DIRECT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {}

bool DirectFile::read(std::uint64_t offset, std::span<char> bytes) const {
  const bool is_possible = fd_ && !bytes.empty() && is_aligned(offset) &&
                           is_aligned(bytes.size()) &&
                           is_aligned(reinterpret_cast<std::uintptr_t>(bytes.data()));
  if (!is_possible || is_in_page_cache(fd_.get(), offset, bytes.size())) return false;
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

DirectBuffer::DirectBuffer(std::size_t size)
    : space_(std::make_unique_for_overwrite<char[]>(size + kDirectAlignment)) {
  void* start = space_.get();
  std::size_t room = size + kDirectAlignment;
  bytes_ = {static_cast<char*>(std::align(kDirectAlignment, size, start, room)), size};
}

}  // namespace robustrun::bootstrap
