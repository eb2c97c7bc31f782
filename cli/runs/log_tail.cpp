#include "cli/runs/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::cli {
namespace {

constexpr off_t kBytesMax = off_t{64} << 10;

struct Log {
  std::string path;
  base::Fd file;
  struct stat status{};
};

// Of a regular file, so that a pipe of that name blocks no reader.
Log open_log(const std::string& path) {
  Log log{path, base::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), {}};
  if (log.file && (::fstat(log.file.get(), &log.status) != 0 || !S_ISREG(log.status.st_mode))) {
    log.file = base::Fd();
  }
  return log;
}

// Written later; an empty log is the earliest.
bool is_earlier(const Log& one, const Log& other) {
  const auto key = [](const Log& log) {
    const auto& at = log.status.st_mtim;
    return std::tuple(static_cast<bool>(log.file), log.status.st_size > 0, at.tv_sec, at.tv_nsec);
  };
  return key(one) < key(other);
}

}  // namespace

LastLines read_last_lines(const std::string& folder, std::size_t lines_max) {
  Log log = open_log(folder + "/stdout.log");
  Log errors = open_log(folder + "/stderr.log");
  if (is_earlier(log, errors)) std::swap(log, errors);
  if (!log.file) return {};
  LastLines last{log.path, {}};
  const off_t begin = std::max<off_t>(0, log.status.st_size - kBytesMax);
  std::string bytes(static_cast<std::size_t>(log.status.st_size - begin), '\0');
  const ssize_t got = ::pread(log.file.get(), bytes.data(), bytes.size(), begin);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  if (bytes.ends_with('\n')) bytes.pop_back();
  if (bytes.empty()) return last;
  std::vector<std::string_view> lines = base::split(bytes, '\n');
  if (begin > 0 && lines.size() > 1) lines.erase(lines.begin());  // its beginning is missing
  const std::size_t first = lines.size() - std::min(lines.size(), lines_max);
  for (std::size_t i = first; i < lines.size(); ++i) {
    // Of a line that was redrawn, such as a progress bar, the last picture.
    std::string_view line = lines[i];
    while (line.ends_with('\r')) line.remove_suffix(1);
    last.lines.emplace_back(line.substr(line.rfind('\r') + 1));
  }
  return last;
}

}  // namespace robustrun::cli
