#include "loader/index/json_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/io/fd.h"

namespace robustrun::loader {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20U;

}  // namespace

base::Status JsonLineScanner::look_at(std::string_view part) {
  if (part.empty()) return {};
  if (blank_) {
    const std::size_t first = part.find_first_not_of(" \t\r");
    if (first != std::string_view::npos) {
      if (part[first] != '{') {
        return base::fail(base::Errc::kCorrupt,
                          fmt::format("line {} does not begin with {{", line_));
      }
      blank_ = false;
    }
  }
  size_ += part.size();
  if (size_ <= kJsonLineBytesMax) return {};
  return base::fail(base::Errc::kLimit,
                    fmt::format("line {} has more than {} bytes", line_, kJsonLineBytesMax));
}

void JsonLineScanner::end_line() {
  if (!blank_) sizes_.push_back(static_cast<std::uint32_t>(size_));
  ++line_;
  size_ = 0;
  blank_ = true;
}

base::Status JsonLineScanner::add(std::string_view part) {
  for (;;) {
    const std::size_t end = part.find('\n');
    if (end == std::string_view::npos) return look_at(part);
    RR_TRY(look_at(part.substr(0, end)));
    end_line();
    part.remove_prefix(end + 1);
  }
}

base::Result<std::vector<std::uint32_t>> read_json_line_sizes(const std::string& path) {
  const auto failed = [&path](int error) {
    return base::fail_errno(fmt::format("cannot read {}", path), error);
  };
  // O_NONBLOCK: the open of a FIFO does not wait for a writer.
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return failed(errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return failed(errno);
  if (!S_ISREG(status.st_mode)) {
    return base::fail(base::Errc::kCorrupt, fmt::format("cannot read {}: it is no file", path));
  }
  JsonLineScanner scanner;
  std::string buffer(kReadBytes, '\0');
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) {
      scanner.finish();
      return scanner.sizes();
    }
    const auto scanned =
        scanner.add(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
    if (!scanned) {
      return base::fail(base::Errc::kCorrupt,
                        fmt::format("cannot use {}: {}", path, scanned.error().what));
    }
  }
}

}  // namespace robustrun::loader
