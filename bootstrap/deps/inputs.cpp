#include "bootstrap/deps/inputs.h"

#include <fmt/core.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "bootstrap/deps/requirement_file.h"
#include "bootstrap/store/limits.h"
#include "bootstrap/store/local_content.h"
#include "bootstrap/store/local_sources.h"

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

// System folders: too large, or not files at all.
bool is_of_system(const std::string& path) {
  constexpr std::array<std::string_view, 18> kOuter = {
      "/",    "/bin",  "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/mnt",
      "/opt", "/proc", "/root", "/run", "/srv", "/sys",  "/tmp", "/usr",   "/var"};
  const bool is_outer = std::ranges::find(kOuter, path) != kOuter.end();
  return is_outer || path.starts_with("/proc/") || path.starts_with("/sys/") ||
         path.starts_with("/dev/");
}

// Folders below `root` that match a pattern like "packages/*".
std::vector<std::string> fitting_paths(const std::string& root, const std::string& pattern) {
  std::vector<std::string> found = {root};
  for (const std::string_view part : base::split(pattern, '/')) {
    if (part.empty()) continue;
    std::vector<std::string> inner;
    for (const std::string& folder : found) {
      std::error_code error;
      for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
           entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (inner.size() >= kDepsFilesMax) return inner;
        std::error_code unknown;
        const bool fits = ::fnmatch(std::string(part).c_str(), name.c_str(), FNM_PERIOD) == 0;
        if (fits && entry->is_directory(unknown)) inner.push_back(folder + "/" + name);
      }
    }
    found = std::move(inner);
  }
  std::ranges::sort(found);
  return found;
}

// Whether a parent folder may belong to the project: folders of other users do not, unless the
// project is theirs too.
bool is_trusted(const std::string& folder, const std::string& project) {
  struct stat status{}, own{};
  if (::stat(folder.c_str(), &status) != 0 || ::stat(project.c_str(), &own) != 0) return false;
  return status.st_uid == 0 || status.st_uid == ::geteuid() || status.st_uid == own.st_uid;
}

class Gatherer {
 public:
  explicit Gatherer(std::string working_directory)
      : working_directory_(std::move(working_directory)) {}

  // Reads a file whose bytes count as they are.
  Result<std::string> file(const std::string& role, const std::string& path) {
    if (++files_ > kDepsFilesMax) {
      return base::fail(Errc::kLimit,
                        fmt::format("more than {} files include each other: {} is one "
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
                        fmt::format("cannot use the dependencies of {}: files include each other "
                                    "more than {} levels deep, or in a circle",
                                    path, kDepsNestingMax));
    }
    const std::string text = RR_TRY(file("requirements", path));
    auto lines = parse_requirements(text);
    if (!lines) return cannot_use_deps(path, lines.error());
    for (const RequirementLine& line : *lines) RR_TRY(take(line, path, depth));
    return {};
  }

  base::Status lock(std::string_view text, const std::string& folder) {
    for (const std::string& path : lock_sources(text)) RR_TRY(content(beside(path, folder)));
    return {};
  }

  // Local sources of a project, and theirs in turn.
  base::Status project(std::string_view text, const std::string& folder, int depth) {
    if (depth > kDepsNestingMax) return {};  // a circle
    const ProjectSources sources = project_sources(text);
    for (const std::string& source : sources.paths) {
      const auto line = parse_requirements(source.starts_with("file:") ? "x @ " + source : source);
      const bool is_path = line && line->size() == 1 && !line->front().path.empty();
      RR_TRY(project_content(beside(is_path ? line->front().path : source, folder), depth));
    }
    if (!sources.needs_workspace) return {};
    for (const std::string& path : workspace_members(folder)) {
      RR_TRY(project_content(path, depth));
    }
    return {};
  }

  // Pip requirements in a conda file; pip runs in that file's folder.
  base::Status conda(std::string_view text, const std::string& path) {
    for (const std::string& line : conda_pip_lines(text)) RR_TRY(take_text(line, path));
    return {};
  }

  base::Status command(const std::vector<std::string>& words) {
    const CommandSources sources = command_sources(words);
    needs_directory_ = !sources.is_known;
    for (const std::string& line : sources.lines) {
      // A missing or too large path may be unrelated, or made by the command itself.
      if (!take_text(line, working_directory_ + "/command")) needs_directory_ = true;
    }
    // Files first: a data folder may use up the rest of the budget.
    for (const fs::file_type type : {fs::file_type::regular, fs::file_type::directory}) {
      for (const std::string& word : sources.candidates) {
        const std::string path = beside(word, working_directory_);
        std::error_code error;
        if (fs::status(path, error).type() != type) continue;
        if (is_of_system(path)) {
          note_place(path);
        } else {
          content_or_place(path);
        }
      }
    }
    return {};
  }

  SnapshotInputs finish() && {
    return {base::to_hex(base::sha256(notes_)), pinned_, std::move(flat_), has_local_,
            needs_directory_};
  }
  // Editable packages are used in place, so their location counts.
  void keep_editable() { keeps_editable_ = true; }
  void unpin() { pinned_ = false; }

 private:
  void note(const std::string& role, const std::string& hash) {
    notes_ += fmt::format("{} {}\n", role, hash);
  }

  void note_place(const std::string& path) { note("place", base::to_hex(base::sha256(path))); }

  [[nodiscard]] std::string resolved(const std::string& path, const std::string& folder) const {
    if (path.starts_with('/')) return path;
    const fs::path here = fs::path(working_directory_) / path;
    const fs::path beside = fs::path(folder) / path;
    return (is_there(here) || !is_there(beside) ? here : beside).lexically_normal().string();
  }

  static std::string beside(const std::string& path, const std::string& folder) {
    return (fs::path(folder) / path).lexically_normal().string();
  }

  base::Status content(const std::string& path) {
    const std::string hash = RR_TRY(content_hash(path, budget_));
    note("content", hash);
    has_local_ = true;
    return {};
  }

  // If the content is too large or unreadable, the path counts instead.
  void content_or_place(const std::string& path) {
    if (!content(path)) note_place(path);
  }

  // A missing path is the installer's to report; pip alone may not need it.
  base::Status project_content(const std::string& path, int depth) {
    if (std::ranges::find(projects_, path) != projects_.end()) return {};
    projects_.push_back(path);
    if (!is_there(path)) {
      note("content", "missing");
      return {};
    }
    content_or_place(path);
    return follow(path, depth);
  }

  base::Status follow(const std::string& package, int depth) {
    const std::string inner = package + "/pyproject.toml";
    if (!is_there(inner)) return {};
    const std::string text = RR_TRY(file("project", inner));
    return project(text, package, depth + 1);
  }

  // Members of the workspace that `folder` belongs to: folders that match its patterns.
  static std::vector<std::string> workspace_members(const std::string& folder) {
    for (fs::path root = folder; !root.empty(); root = root.parent_path()) {
      if (!is_trusted(root.string(), folder)) return {};
      const auto text = base::read_file((root / "pyproject.toml").string(), kDepsFileBytesMax,
                                        base::Links::kRefuse);
      const ProjectSources sources = text ? project_sources(*text) : ProjectSources{};
      std::vector<std::string> found;
      for (const std::string& pattern : sources.members) {
        std::vector<std::string> some = fitting_paths(root.string(), pattern);
        std::ranges::move(some, std::back_inserter(found));
      }
      if (!found.empty() || root == root.root_path()) return found;
    }
    return {};
  }

  // pip splits the value of an option like a shell; uv takes double quotes, too.
  static std::string option_value(const std::string& path) {
    return path.find_first_of(" \t'") == std::string::npos ? path : '"' + path + '"';
  }

  base::Status take_text(const std::string& text, const std::string& file_path) {
    const auto lines = parse_requirements(text);
    if (!lines) return cannot_use_deps(file_path, lines.error());
    for (const RequirementLine& line : *lines) RR_TRY(take(line, file_path, 0));
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
        flat_ += "-c " + option_value(path) + "\n";
        return {};
      }
      case Kind::kEditable:
      case Kind::kPath: {
        const std::string path = resolved(line.path, folder);
        RR_TRY(content(path));
        RR_TRY(follow(path, 0));
        if (line.kind == Kind::kEditable && keeps_editable_) {
          note("place", base::to_hex(base::sha256(path)));
        }
        flat_ += path + line.rest + "\n";
        return {};
      }
      case Kind::kFindLinks: {
        const std::string path = resolved(line.path, folder);
        note("links", RR_TRY(names_hash(path)));
        flat_ += "--find-links " + option_value(path) + "\n";
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
  bool needs_directory_ = false;
  bool keeps_editable_ = false;
  std::vector<std::string> projects_;  // projects already followed
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
                    "unknown kind of file; expected requirements.txt (any .txt or .in), uv.lock, "
                    "pyproject.toml or environment.yml");
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
                                     const std::string& working_directory,
                                     const std::vector<std::string>& command) {
  const std::string folder = fs::path(path).parent_path().string();
  Gatherer gatherer(kind == DepsKind::kConda ? folder : working_directory);
  if (kind == DepsKind::kConda || kind == DepsKind::kCommand) gatherer.keep_editable();
  if (kind != DepsKind::kRequirements && kind != DepsKind::kUvLock) gatherer.unpin();
  switch (kind) {
    case DepsKind::kRequirements: RR_TRY(gatherer.requirements(path, 0)); break;
    case DepsKind::kUvLock: {
      const std::string lock = RR_TRY(gatherer.file("lock", path));
      RR_TRY(gatherer.file("project", folder + "/pyproject.toml"));
      RR_TRY(gatherer.lock(lock, folder));
      break;
    }
    case DepsKind::kPyproject: {
      const std::string text = RR_TRY(gatherer.file("project", path));
      RR_TRY(gatherer.project(text, folder, 0));
      break;
    }
    case DepsKind::kConda: {
      const std::string text = RR_TRY(gatherer.file("conda", path));
      RR_TRY(gatherer.conda(text, path));
      break;
    }
    case DepsKind::kCommand: RR_TRY(gatherer.command(command)); break;
  }
  return std::move(gatherer).finish();
}

}  // namespace robustrun::bootstrap
