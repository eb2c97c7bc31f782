#include "agent/node/worker_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/io/fd.h"

namespace robustrun::agent {

base::Result<std::string> read_worker_file(const std::string& path, std::size_t limit) {
  using base::Errc;
  // O_NONBLOCK: the worker may have put a FIFO there.
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return base::fail_errno("it cannot be opened", errno);
  struct stat found{};
  if (::fstat(fd.get(), &found) != 0) return base::fail_errno("it cannot be read", errno);
  if (!S_ISREG(found.st_mode)) return base::fail(Errc::kCorrupt, "it is not a regular file");
  // One byte more than its size, or than the limit, so that growth is noticed.
  const auto size_now = static_cast<std::size_t>(std::max<off_t>(found.st_size, 0));
  std::string text(std::min(size_now, limit) + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("it cannot be read", errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size == text.size() && size <= limit) text.resize(std::min(2 * size, limit + 1));
  }
  if (size > limit) {
    const bool is_in_mib = limit >= std::size_t{1} << 20;
    return base::fail(Errc::kLimit, "it is larger than " +
                                        std::to_string(limit >> (is_in_mib ? 20 : 10)) +
                                        (is_in_mib ? " MiB" : " KiB"));
  }
  if (size == 0) return base::fail(Errc::kCorrupt, "it is empty");
  text.resize(size);
  return text;
}

}  // namespace robustrun::agent
