#include "bootstrap/snapshot_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "bootstrap/limits.h"
#include "bootstrap/local_content.h"
#include "bootstrap/requirement_file.h"

namespace robustrun::bootstrap {
namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::Result;
using Kind = RequirementLine::Kind;

std::unexpected<base::Error> cannot_use_deps(const std::string& path, const base::Error& error) {
  return std::unexpected(
      base::Error{error.code, error.os_errno,
                  fmt::format("cannot use the dependencies of {}: {}", path, error.what)});
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

class Gatherer {
 public:
  explicit Gatherer(std::string working_directory)
      : working_directory_(std::move(working_directory)) {}

  // A file that counts as it is.
  Result<std::string> file(const std::string& role, const std::string& path) {
    if (++files_ > kDepsFilesMax) {
      return base::fail(Errc::kLimit, fmt::format("more than {} files name each other: {} is one "
                                                  "too many",
                                                  kDepsFilesMax, path));
    }
    auto text = base::read_file(path, kDepsFileBytesMax);
    if (!text) return cannot_use_deps(path, text.error());
    note(role, base::to_hex(base::sha256(*text)));
    return text;
  }

  base::Status requirements(const std::string& path, int depth) {
    if (depth > kDepsNestingMax) {
      return base::fail(Errc::kLimit,
                        fmt::format("cannot use the dependencies of {}: files that name files are "
                                    "more than {} deep, or name each other in a circle",
                                    path, kDepsNestingMax));
    }
    const std::string text = RR_TRY(file("requirements", path));
    auto lines = parse_requirements(text);
    if (!lines) return cannot_use_deps(path, lines.error());
    for (const RequirementLine& line : *lines) RR_TRY(take(line, path, depth));
    return {};
  }

  // Sources of a uv.lock on this machine, but for the project itself. Its TOML is written by uv
  // alone, with one source a line.
  base::Status lock_sources(std::string_view text, const std::string& folder) {
    constexpr std::array<std::string_view, 3> kWords = {"{ editable = \"", "{ directory = \"",
                                                        "{ path = \""};
    for (const std::string_view line : base::split(text, '\n')) {
      for (const std::string_view word : kWords) {
        const auto at = line.find(word);
        if (!line.starts_with("source = ") || at == std::string_view::npos) continue;
        const std::string_view behind = line.substr(at + word.size());
        const std::string path(behind.substr(0, behind.find('"')));
        if (path != "." && !path.empty()) RR_TRY(content(resolved(path, folder)));
      }
    }
    return {};
  }

  // Files that conda's file names for pip: "- -r FILE" below "pip:".
  base::Status conda_references(std::string_view text, const std::string& path) {
    for (std::string_view line : base::split(text, '\n')) {
      line = base::trim(line);
      if (line.starts_with("- ")) line = base::trim(line.substr(2));
      if (!line.starts_with("-r ") && !line.starts_with("-e ")) continue;
      auto lines = parse_requirements(line);
      if (!lines) return cannot_use_deps(path, lines.error());
      for (const RequirementLine& each : *lines) RR_TRY(take(each, path, 0));
    }
    return {};
  }

  SnapshotInputs finish() && {
    return {base::to_hex(base::sha256(notes_)), pinned_, std::move(flat_), has_local_};
  }
  void unpin() { pinned_ = false; }

 private:
  void note(const std::string& role, const std::string& hash) {
    notes_ += fmt::format("{} {}\n", role, hash);
  }

  [[nodiscard]] std::string resolved(const std::string& path, const std::string& folder) const {
    if (path.starts_with('/')) return path;
    const fs::path here = fs::path(working_directory_) / path;
    const fs::path beside = fs::path(folder) / path;
    return (is_there(here) || !is_there(beside) ? here : beside).lexically_normal().string();
  }

  base::Status content(const std::string& path) {
    const std::string hash = RR_TRY(content_hash(path, budget_));
    note("content", hash);
    has_local_ = true;
    return {};
  }

  base::Status take(const RequirementLine& line, const std::string& file_path, int depth) {
    const std::string folder = fs::path(file_path).parent_path().string();
    pinned_ = pinned_ && line.pinned;
    switch (line.kind) {
      case Kind::kInclude:
        return requirements(line.path.starts_with('/') ? line.path : folder + "/" + line.path,
                            depth + 1);
      case Kind::kConstraint: {
        const std::string path = line.path.starts_with('/') ? line.path : folder + "/" + line.path;
        RR_TRY(file("constraint", path));
        flat_ += "-c " + path + "\n";
        return {};
      }
      case Kind::kEditable:
      case Kind::kPath: {
        const std::string path = resolved(line.path, folder);
        RR_TRY(content(path));
        flat_ += path + line.rest + "\n";
        return {};
      }
      case Kind::kFindLinks: {
        const std::string path = resolved(line.path, folder);
        note("links", RR_TRY(names_hash(path)));
        flat_ += "--find-links " + path + "\n";
        return {};
      }
      case Kind::kOther: flat_ += line.text + "\n"; return {};
    }
    return {};
  }

  const std::string working_directory_;
  std::string notes_;
  std::string flat_;
  std::size_t files_ = 0;
  bool pinned_ = true;
  bool has_local_ = false;
  ContentBudget budget_;
};

}  // namespace

Result<DepsKind> deps_kind(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "uv.lock") return DepsKind::kUvLock;
  if (name == "pyproject.toml") return DepsKind::kPyproject;
  if (name.ends_with(".yml") || name.ends_with(".yaml")) return DepsKind::kConda;
  if (name.ends_with(".txt") || name.ends_with(".in")) return DepsKind::kRequirements;
  return base::fail(Errc::kInvalidArgument,
                    "its name tells no format: requirements.txt (any .txt or .in), uv.lock, "
                    "pyproject.toml and environment.yml do");
}

std::string_view word_for(DepsKind kind) {
  switch (kind) {
    case DepsKind::kRequirements: return "requirements";
    case DepsKind::kUvLock: return "uv-lock";
    case DepsKind::kPyproject: return "pyproject";
    case DepsKind::kConda: return "conda";
    case DepsKind::kCommand: return "command";
  }
  return "";
}

Result<SnapshotInputs> gather_inputs(DepsKind kind, const std::string& path,
                                     const std::string& working_directory) {
  Gatherer gatherer(working_directory);
  const std::string folder = fs::path(path).parent_path().string();
  switch (kind) {
    case DepsKind::kRequirements: RR_TRY(gatherer.requirements(path, 0)); break;
    case DepsKind::kUvLock: {
      const std::string lock = RR_TRY(gatherer.file("lock", path));
      RR_TRY(gatherer.file("project", folder + "/pyproject.toml"));
      RR_TRY(gatherer.lock_sources(lock, folder));
      break;
    }
    case DepsKind::kPyproject:
      RR_TRY(gatherer.file("project", path));
      gatherer.unpin();
      break;
    case DepsKind::kConda: {
      const std::string text = RR_TRY(gatherer.file("conda", path));
      RR_TRY(gatherer.conda_references(text, path));
      gatherer.unpin();
      break;
    }
    case DepsKind::kCommand: gatherer.unpin(); break;
  }
  return std::move(gatherer).finish();
}

}  // namespace robustrun::bootstrap
