#include "agent/error_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/limits.h"
#include "agent/worker_json.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

using base::Errc;

base::Result<std::string> read_bounded(const std::string& path) {
  // O_NONBLOCK: the worker may have put a FIFO there.
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return base::fail_errno("it cannot be opened", errno);
  struct stat found{};
  if (::fstat(fd.get(), &found) != 0) return base::fail_errno("it cannot be read", errno);
  if (!S_ISREG(found.st_mode)) return base::fail(Errc::kCorrupt, "it is not a regular file");
  std::string text(kErrorFileBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("it cannot be read", errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kErrorFileBytesMax) return base::fail(Errc::kLimit, "it is larger than 1 MiB");
  if (size == 0) return base::fail(Errc::kCorrupt, "it is empty");
  text.resize(size);
  return text;
}

base::Result<wire::ErrorFile> read_and_parse(const std::string& path) {
  const std::string text = RR_TRY(read_bounded(path));
  return parse_error_file(text);
}

}  // namespace

std::optional<wire::ErrorFile> read_error_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  auto parsed = read_and_parse(path);
  if (!parsed && (parsed.error().os_errno == ENOENT || parsed.error().os_errno == ENOTDIR)) {
    return std::nullopt;
  }
  wire::ErrorFile file;
  if (parsed) {
    file = *std::move(parsed);
  } else {
    file.message = "the worker's error file says nothing: " + parsed.error().what;
  }
  file.path = path;
  return file;
}

}  // namespace robustrun::agent
