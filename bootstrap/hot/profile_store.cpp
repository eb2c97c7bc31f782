#include "bootstrap/hot/profile_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "base/core/hash.h"
#include "base/io/fd.h"
#include "base/io/private_dir.h"
#include "bootstrap/hot/block_profile.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kEnding = ".hot";
constexpr std::string_view kBlocksEnding = ".blocks";
constexpr std::string_view kImportsEnding = ".imports";
constexpr std::string_view kImportsHead = "robustrun-modules 1\n";

std::string profile_folder(const std::string& cache) { return cache + "/hot"; }

std::string interpreter_prefix(const std::string& interpreter) {
  return fmt::format("{:016x}-", base::hash64(interpreter));
}

std::string profile_path(const std::string& cache, const ProfileKey& key) {
  return fmt::format("{}/{}{:016x}{}", profile_folder(cache), interpreter_prefix(key.interpreter),
                     base::hash64(key.program), kEnding);
}

std::string imports_path(const std::string& cache, const std::string& interpreter,
                         std::uint64_t start) {
  return fmt::format("{}/{}{:016x}{}", profile_folder(cache), interpreter_prefix(interpreter),
                     start, kImportsEnding);
}

bool is_only_ours(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_ours(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return is_only_ours(status);
}

std::optional<HotProfile> read_profile(const std::string& path) {
  if (!is_ours(path)) return std::nullopt;
  const auto text = base::read_file(path, kProfileBytesMax);
  if (!text) return std::nullopt;
  auto profile = decode_profile(*text);
  if (!profile) return std::nullopt;
  return *std::move(profile);
}

// What it names is imported, so no other user may be able to replace it, either.
std::string read_imports(const std::string& path) {
  struct stat folder{};
  const bool is_safe = ::stat(path.substr(0, path.rfind('/')).c_str(), &folder) == 0 &&
                       is_only_ours(folder) && is_ours(path);
  if (!is_safe) return {};
  auto text = base::read_file(path, kImportsBytesMax, base::Links::kRefuse);
  return text && text->starts_with(kImportsHead) ? *std::move(text) : std::string();
}

// Newest first.
std::vector<std::string> profiles_by_age(const std::string& cache, const std::string& prefix,
                                         std::string_view ending = kEnding) {
  std::vector<std::pair<std::filesystem::file_time_type, std::string>> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(profile_folder(cache), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(ending)) continue;
    std::error_code unreadable;
    const auto written = entry->last_write_time(unreadable);
    if (!unreadable) found.emplace_back(written, entry->path().string());
  }
  std::ranges::sort(found, std::greater{});
  std::vector<std::string> paths;
  for (auto& each : found) paths.push_back(std::move(each.second));
  return paths;
}

base::Status save(const std::string& cache, const std::string& path, const std::string& text,
                  std::string_view ending) {
  RR_TRY(base::make_directories(cache, 0700));
  RR_TRY(base::make_private_directory(profile_folder(cache)));
  RR_TRY(base::write_file_atomically(path, text, 0600));
  const auto paths = profiles_by_age(cache, "", ending);
  for (std::size_t i = kProfilesMax; i < paths.size(); ++i) ::unlink(paths[i].c_str());
  return {};
}

}  // namespace

std::optional<FoundProfile> load_profile(const std::string& cache, const ProfileKey& key) {
  if (auto own = read_profile(profile_path(cache, key))) return FoundProfile{*std::move(own), true};
  for (const std::string& path : profiles_by_age(cache, interpreter_prefix(key.interpreter))) {
    if (auto other = read_profile(path)) return FoundProfile{*std::move(other), false};
  }
  return std::nullopt;
}

std::vector<std::string> list_profiles(const std::string& cache) {
  std::vector<std::string> all = profiles_by_age(cache, "");
  for (const std::string_view ending : {kBlocksEnding, kImportsEnding}) {
    for (std::string& path : profiles_by_age(cache, "", ending)) all.push_back(std::move(path));
  }
  return all;
}

bool is_whole_profile(const std::string& path) {
  if (path.ends_with(kImportsEnding)) return !read_imports(path).empty();
  if (!path.ends_with(kBlocksEnding)) return read_profile(path).has_value();
  if (!is_ours(path)) return false;
  const auto text = base::read_file(path, kProfileBytesMax);
  return text && decode_block_profile(*text);
}

base::Status save_profile(const std::string& cache, const ProfileKey& key,
                          const HotProfile& profile) {
  return save(cache, profile_path(cache, key), encode_profile(profile), kEnding);
}

std::string load_imports(const std::string& cache, const std::string& interpreter,
                         std::uint64_t start) {
  const std::string path = imports_path(cache, interpreter, start);
  std::string list = read_imports(path);
  if (!list.empty()) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // the oldest are removed
  return list;
}

base::Status save_imports(const std::string& cache, const std::string& interpreter,
                          std::uint64_t start, const std::string& list) {
  return save(cache, imports_path(cache, interpreter, start), list, kImportsEnding);
}

}  // namespace robustrun::bootstrap
