#include "base/io/code_tree.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/limits.h"
#include "base/io/sha256.h"

namespace robustrun::base {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kNoCode = {".git", "__pycache__", "robustrun-runs"};
constexpr unsigned kCodeModeBits = 0700;

std::unexpected<Error> cannot_copy(const std::string& path, const std::error_code& error) {
  return fail_errno("cannot copy " + path, error.value());
}

bool is_plain_text(std::string_view name) {
  return std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

class CodeCopier {
 public:
  CodeCopier(const fs::path& from, const fs::path& to, const fs::path& except,
             std::vector<std::string> ignored)
      : from_(from), to_(to), except_(except), ignored_(std::move(ignored)) {
    std::ranges::sort(ignored_);
  }

  Status folder(const fs::path& relative, int depth) {
    if (depth > kCodeDepthMax) {
      return fail(Errc::kLimit, fmt::format("cannot copy {}: its folders are more than {} deep",
                                            from_.string(), kCodeDepthMax));
    }
    std::error_code error;
    const fs::path made = relative.empty() ? to_ : to_ / relative;
    if (::mkdir(made.c_str(), 0700) != 0) return fail_errno("cannot make " + made.string(), errno);
    std::vector<fs::path> names;
    for (fs::directory_iterator entry(from_ / relative, error), end; !error && entry != end;
         entry.increment(error)) {
      names.push_back(entry->path().filename());
    }
    if (error) return cannot_copy((from_ / relative).string(), error);
    std::ranges::sort(names);
    for (const fs::path& name : names) RR_TRY(entry(relative / name, depth));
    return {};
  }
  CodeCopy take() { return std::move(copy_); }

 private:
  Status entry(const fs::path& relative, int depth) {
    const fs::path path = from_ / relative;
    if (std::ranges::find(kNoCode, relative.filename().string()) != kNoCode.end()) return {};
    if (std::ranges::binary_search(ignored_, relative.string())) return {};
    if (!is_plain_text(relative.string())) {
      return fail(Errc::kInvalidArgument,
                  "cannot copy a file with a control character in its "
                  "name: " +
                      printable(path.string()));
    }
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (error) return cannot_copy(path.string(), error);
    if (fs::is_directory(status)) {
      if (!except_.empty() && fs::equivalent(path, except_, error)) return {};
      if (fs::exists(path / "pyvenv.cfg", error)) return {};  // its links point into this machine
      return folder(relative, depth + 1);
    }
    if (fs::is_symlink(status)) return link(relative);
    return fs::is_regular_file(status) ? file(relative, status.permissions()) : Status();
  }

  Status count(std::uint64_t bytes) {
    ++copy_.files;
    copy_.bytes += bytes;
    if (copy_.files <= kCodeFilesMax && copy_.bytes <= kCodeBytesMax) return {};
    return fail(Errc::kLimit,
                fmt::format("cannot copy {}: it holds more than {} files or {} MiB; name a folder "
                            "that holds the code alone",
                            from_.string(), kCodeFilesMax, kCodeBytesMax >> 20));
  }

  Status file(const fs::path& relative, fs::perms permissions) {
    const std::string path = (from_ / relative).string();
    auto bytes = read_file(path, kCodeBytesMax);
    if (!bytes && bytes.error().code == Errc::kLimit) return count(kCodeBytesMax + 1);
    if (!bytes) return std::unexpected(bytes.error());
    RR_TRY(count(bytes->size()));
    const unsigned mode = (static_cast<unsigned>(permissions) & kCodeModeBits) | 0400U;
    RR_TRY(write_file_atomically((to_ / relative).string(), *bytes, mode));
    copy_.manifest +=
        fmt::format("f {:o} {} {}\n", mode, to_hex(sha256(*bytes)), relative.string());
    return {};
  }

  Status link(const fs::path& relative) {
    const fs::path path = from_ / relative;
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) return cannot_copy(path.string(), error);
    const fs::path reached = fs::canonical(path, error);
    if (error) return {};  // a dangling link
    const fs::path from_root = reached.lexically_relative(from_);
    if (target.is_absolute() || from_root.empty() || *from_root.begin() == "..") {
      return fail(Errc::kPermission,
                  fmt::format("cannot copy the link {}: it leads to {}, outside of {} (or by an "
                              "absolute path); put a copy there instead",
                              path.string(), reached.string(), from_.string()));
    }
    RR_TRY(count(0));
    fs::create_symlink(target, to_ / relative, error);
    if (error) return cannot_copy(path.string(), error);
    copy_.manifest += fmt::format("l {}{}{}\n", target.string(), '\0', relative.string());
    return {};
  }

  const fs::path from_, to_, except_;
  std::vector<std::string> ignored_;
  CodeCopy copy_;
};

std::unexpected<Error> differs(const std::string& path) {
  return fail(Errc::kConflict, path + " is not what it was when the code was copied");
}

Status check_file(const std::string& folder, std::string_view words) {
  const std::size_t mode_end = words.find(' ');
  const std::size_t hash_end =
      mode_end == std::string_view::npos ? mode_end : words.find(' ', mode_end + 1);
  if (hash_end == std::string_view::npos) return fail(Errc::kCorrupt, "the list is damaged");
  const std::string path = folder + "/" + std::string(words.substr(hash_end + 1));
  auto bytes = read_file(path, kCodeBytesMax);
  if (!bytes) {
    Error error = bytes.error();
    if (error.os_errno == ENOENT) error.code = Errc::kNotFound;
    return std::unexpected(std::move(error));
  }
  const std::string_view hash = words.substr(mode_end + 1, hash_end - mode_end - 1);
  return to_hex(sha256(*bytes)) == hash ? Status() : differs(path);
}

Status check_link(const std::string& folder, std::string_view words) {
  const std::size_t end = words.find('\0');
  if (end == std::string_view::npos) return fail(Errc::kCorrupt, "the list is damaged");
  const std::string path = folder + "/" + std::string(words.substr(end + 1));
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return !error && target == fs::path(words.substr(0, end)) ? Status() : differs(path);
}

}  // namespace

Result<CodeCopy> copy_code(const std::string& from, const std::string& to,
                           const std::string& except, std::vector<std::string> ignored) {
  std::error_code error;
  const fs::path root = fs::canonical(from, error);
  if (error) return cannot_copy(from, error);
  CodeCopier copier(root, to, except, std::move(ignored));
  RR_TRY(copier.folder({}, 0));
  return copier.take();
}

Status check_code(const std::string& folder, const std::string& manifest) {
  for (const std::string_view line : split(manifest, '\n')) {
    if (line.empty()) continue;
    if (line.starts_with("f ")) {
      RR_TRY(check_file(folder, line.substr(2)));
    } else if (line.starts_with("l ")) {
      RR_TRY(check_link(folder, line.substr(2)));
    } else {
      return fail(Errc::kCorrupt, "the list is damaged");
    }
  }
  return {};
}

}  // namespace robustrun::base
