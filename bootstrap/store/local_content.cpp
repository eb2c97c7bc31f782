#include "bootstrap/store/local_content.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::Result;

constexpr std::array<std::string_view, 11> kNotContent = {
    ".git",  ".hg",  ".svn",   "__pycache__", ".venv",         "venv",
    "build", ".tox", ".cache", ".mypy_cache", "robustrun-runs"};

bool is_content(const std::string& name) {
  return std::ranges::find(kNotContent, name) == kNotContent.end() && !name.ends_with(".pyc") &&
         !name.ends_with(".egg-info");
}

std::unexpected<base::Error> cannot_hash(const std::string& path, int os_errno) {
  auto error = base::fail_errno("cannot read the package " + path, os_errno);
  error.error().code = os_errno == ENOENT ? Errc::kNotFound : error.error().code;
  return error;
}

class ContentHasher {
 public:
  explicit ContentHasher(ContentBudget& budget) : budget_(budget) {}

  // Hashes pieces of 1 MiB, each together with the hash of those before it.
  Result<std::string> file(const std::string& path) {
    const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return cannot_hash(path, errno);
    if (++budget_.files > kLocalFilesMax) return too_much(path);
    std::string hash, piece;
    while (true) {
      piece.resize(kPieceBytes);
      std::size_t filled = 0;
      while (filled < piece.size()) {
        const ssize_t got = ::read(fd.get(), piece.data() + filled, piece.size() - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cannot_hash(path, errno);
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
      }
      piece.resize(filled);
      budget_.bytes += filled;
      if (budget_.bytes > kLocalBytesMax) return too_much(path);
      hash = base::sha256(hash + piece);
      if (filled < kPieceBytes) return base::to_hex(hash);
    }
  }

  Result<std::string> folder(const fs::path& path, int depth) {
    if (depth > kLocalDepthMax) return too_much(path.string());
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      names.push_back(entry->path().filename().string());
      if (names.size() > kLocalFilesMax) return too_much(path.string());
    }
    if (error) return cannot_hash(path.string(), error.value());
    std::ranges::sort(names);
    std::string list;
    for (const std::string& name : names) {
      if (!is_content(name)) continue;
      const fs::path inner = path / name;
      const fs::file_status status = fs::symlink_status(inner, error);
      if (error) return cannot_hash(inner.string(), error.value());
      std::string hash = "other";
      if (fs::is_symlink(status)) {
        hash = fs::read_symlink(inner, error).string();
      } else if (fs::is_directory(status)) {
        hash = RR_TRY(folder(inner, depth + 1));
      } else if (fs::is_regular_file(status)) {
        hash = RR_TRY(file(inner.string()));
      }
      list += fmt::format("{} {}{}{}\n",
                          fs::is_directory(status) ? "d"
                          : fs::is_symlink(status) ? "l"
                                                   : "f",
                          name, '\0', hash);
    }
    return base::to_hex(base::sha256(list));
  }

 private:
  static std::unexpected<base::Error> too_much(const std::string& path) {
    return base::fail(
        Errc::kLimit,
        fmt::format("cannot use the package {}: local packages hold more than {} files, {} GiB or "
                    "{} folders within each other; build a wheel of it and name that",
                    path, kLocalFilesMax, kLocalBytesMax >> 30, kLocalDepthMax));
  }

  ContentBudget& budget_;
};

}  // namespace

Result<std::string> content_hash(const std::string& path, ContentBudget& budget) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return cannot_hash(path, ENOENT);
  ContentHasher hasher(budget);
  if (fs::is_directory(status)) return hasher.folder(path, 0);
  if (!fs::is_regular_file(status)) return cannot_hash(path, EINVAL);
  // A wheel's name identifies its content.
  const std::string hash = RR_TRY(hasher.file(path));
  return base::to_hex(base::sha256(fs::path(path).filename().string() + '\0' + hash));
}

Result<std::string> names_hash(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const auto size = entry->file_size(unknown);
    names.push_back(fmt::format("{}{}{}\n", entry->path().filename().string(), '\0',
                                unknown ? 0 : static_cast<std::uint64_t>(size)));
    if (names.size() > kLocalFilesMax) {
      return base::fail(Errc::kLimit, fmt::format("cannot use {}: it holds more than {} files",
                                                  folder, kLocalFilesMax));
    }
  }
  // A file (a page of links) counts by its content.
  if (error.value() == ENOTDIR) {
    ContentBudget budget;
    return content_hash(folder, budget);
  }
  if (error) return cannot_hash(folder, error.value());
  std::ranges::sort(names);
  return base::to_hex(base::sha256(base::join(names, "")));
}

}  // namespace robustrun::bootstrap
