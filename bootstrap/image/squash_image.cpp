#include "bootstrap/image/squash_image.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {
namespace {

using base::Errc;

constexpr std::string_view kSquashMagic = "hsqs";
constexpr std::size_t kCompressorAt = 20;
constexpr std::size_t kVersionAt = 28;
constexpr std::size_t kBytesUsedAt = 40;
constexpr std::uint16_t kSquashVersion = 4;
constexpr std::array<std::string_view, 7> kCompressors = {"?",  "gzip", "lzma", "lzo",
                                                          "xz", "lz4",  "zstd"};
constexpr const char* kMakeOne = "make one with mksquashfs, see docs/images.md";

// The format is little-endian, like every machine that this is built for.
template <class T>
T field_at(std::string_view head, std::size_t at) {
  T value{};
  std::memcpy(&value, head.data() + at, sizeof value);
  return value;
}

}  // namespace

base::Result<SquashHead> read_squash_head(std::string_view head, std::uint64_t file_bytes) {
  if (head.size() < kSquashHeadBytes || !head.starts_with(kSquashMagic)) {
    return base::fail(Errc::kCorrupt, "it is not a squashfs image");
  }
  const auto version = field_at<std::uint16_t>(head, kVersionAt);
  if (version != kSquashVersion) {
    return base::fail(Errc::kCorrupt,
                      fmt::format("it has squashfs version {}, but version 4 is needed", version));
  }
  SquashHead found;
  found.bytes = field_at<std::uint64_t>(head, kBytesUsedAt);
  const auto compressor = field_at<std::uint16_t>(head, kCompressorAt);
  found.compressor = kCompressors[compressor < kCompressors.size() ? compressor : 0];
  if (found.bytes > file_bytes) {
    return base::fail(Errc::kCorrupt, fmt::format("it is cut short: {} of {} bytes are there",
                                                  file_bytes, found.bytes));
  }
  return found;
}

base::Result<SquashHead> look_at_squash_image(const std::string& path) {
  const std::string what = "cannot use the image " + base::printable(path);
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) {
    const int cause = errno;
    auto failed = base::fail_errno(what, cause);
    failed.error().code = cause == ENOENT || cause == ENOTDIR ? Errc::kNotFound : Errc::kOs;
    failed.error().what +=
        cause == EACCES
            ? "; make it readable for this user"
            : "; put it on a file system that every machine sees, or copy it to each machine";
    return failed;
  }
  if (!S_ISREG(status.st_mode)) {
    return base::fail(Errc::kInvalidArgument, what + ": it is not a regular file; " + kMakeOne);
  }
  std::array<char, kSquashHeadBytes> head{};
  const ssize_t got = ::pread(file.get(), head.data(), head.size(), 0);
  if (got < 0) return base::fail_errno(what, errno);
  auto found = read_squash_head({head.data(), static_cast<std::size_t>(got)},
                                static_cast<std::uint64_t>(status.st_size));
  if (found) return found;
  // ENOEXEC, as for a program of unknown format: a retry will not help.
  return std::unexpected(
      base::Error{found.error().code, ENOEXEC, what + ": " + found.error().what + "; " + kMakeOne});
}

}  // namespace robustrun::bootstrap
