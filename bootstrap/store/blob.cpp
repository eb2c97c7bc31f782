#include "bootstrap/store/blob.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::size_t kKeyDigits = 32;

base::Result<std::string> read_edge(int fd, const std::string& path, std::uint64_t offset,
                                    std::uint64_t length) {
  std::string bytes(static_cast<std::size_t>(length), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno(fmt::format("cannot read '{}'", path), errno);
    if (got == 0) {
      return base::fail(base::Errc::kConflict,
                        fmt::format("cannot use '{}': it was truncated meanwhile", path));
    }
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

std::string blob_key(std::uint64_t length, std::string_view validator, std::string_view head,
                     std::string_view tail) {
  // The lengths come first, so that no two different blobs give the same text.
  const std::string text = fmt::format("robustrun-blob 2\n{}\n{}\n{}\n{}{}{}", length,
                                       validator.size(), head.size(), validator, head, tail);
  return base::to_hex(base::sha256(text)).substr(0, kKeyDigits);
}

bool is_blob_key(std::string_view text) {
  return text.size() == kKeyDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string path_validator(std::int64_t mtime_ns) { return fmt::format("mtime {}", mtime_ns); }

namespace {

// The validator is the modification time, or empty.
base::Result<Blob> look_at_blob(const std::string& path, bool has_time) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return base::fail_errno(fmt::format("cannot open '{}'", path), errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    return base::fail_errno(fmt::format("cannot look at '{}'", path), errno);
  }
  const auto length = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || length == 0 || length > kBlobBytesMax) {
    return base::fail(
        base::Errc::kInvalidArgument,
        fmt::format("cannot use '{}': it must be a regular file of 1 byte to 1 TiB", path));
  }
  const auto mtime = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  const std::uint64_t edge = std::min(length, kBlobEdgeBytes);
  const std::string head = RR_TRY(read_edge(fd.get(), path, 0, edge));
  const std::string tail = RR_TRY(read_edge(fd.get(), path, length - edge, edge));
  std::string validator = has_time ? path_validator(mtime) : std::string();
  return Blob{blob_key(length, validator, head, tail), length, std::move(validator)};
}

}  // namespace

base::Result<Blob> blob_of_file(const std::string& path) { return look_at_blob(path, true); }

base::Result<std::string> content_key(const std::string& path) {
  return RR_TRY(look_at_blob(path, false)).key;
}

bool is_http_source(std::string_view source) {
  return source.starts_with("http://") || source.starts_with("https://");
}

std::string shown_source(std::string_view source) {
  if (!is_http_source(source)) return base::printable(source);
  std::string_view rest = source.substr(0, source.find_first_of("?#"));
  const auto host = rest.find("//") + 2;
  const auto path = rest.find('/', host);
  const auto user = rest.substr(0, path).rfind('@');
  std::string shown(rest.substr(0, host));
  shown += user == std::string_view::npos ? rest.substr(host) : rest.substr(user + 1);
  return base::printable(shown);
}

}  // namespace robustrun::bootstrap
