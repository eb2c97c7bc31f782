#include "agent/health/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "agent/health/limits.h"

namespace robustrun::agent {

base::Result<KernelLog> KernelLog::open(const std::string& path) {
  base::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return base::fail_errno("cannot read " + path, errno);
  // A FIFO has no end to seek to.
  if (::lseek(fd.get(), 0, SEEK_END) < 0 && errno != ESPIPE) {
    return base::fail_errno("cannot go to the end of " + path, errno);
  }
  return KernelLog(std::move(fd));
}

std::vector<std::string> KernelLog::read_lines() {
  std::vector<std::string> lines;
  std::array<char, kKernelLineBytesMax> buffer{};
  for (unsigned reads = 0; reads < kKernelReadsPerLook; ++reads) {
    const ssize_t size = ::read(fd_.get(), buffer.data(), buffer.size());
    // EPIPE: records were overwritten; the next read continues.
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (size <= 0) break;
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end);
      too_long_ = too_long_ || rest_.size() + piece.size() > kKernelLineBytesMax;
      if (!too_long_) rest_ += piece;
      if (end == bytes.npos) break;
      bytes.remove_prefix(end + 1);
      if (!too_long_) lines.push_back(rest_);
      rest_.clear();
      too_long_ = false;
    }
  }
  return lines;
}

}  // namespace robustrun::agent
