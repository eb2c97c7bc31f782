#include "cli/plan/sync_code.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "base/io/code_tree.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/sha256.h"
#include "base/io/tool.h"
#include "bootstrap/store/code_pack.h"
#include "bootstrap/store/code_store.h"
#include "cli/options/limits.h"
#include "supervisor/run_dir/code_pack.h"

namespace robustrun::cli {
namespace {

namespace fs = std::filesystem;
using base::Result;

constexpr unsigned kPackMode = 0600;

// The path after the move; empty: it is not in `from`. Follows links in the path, but not the last
// component.
std::string moved_path(const std::string& path, const std::string& from, const std::string& to) {
  const fs::path name = fs::path(path).filename();
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  if (error) return {};
  if (real != fs::path(from) && !name.empty() && name != "." && name != "..") {
    real = fs::weakly_canonical(fs::path(path).parent_path(), error) / name;
    if (error) return {};
  }
  const fs::path relative = real.lexically_relative(from);
  if (relative.empty() || *relative.begin() == "..") return {};
  return relative == "." ? to : to + "/" + relative.string();
}

void move_entry(std::string& path, const std::string& from, const std::string& to) {
  if (!path.starts_with('/')) return;
  if (std::string moved = moved_path(path, from, to); !moved.empty()) path = std::move(moved);
}

// Files that git ignores; empty if git does not track the folder.
std::vector<std::string> ignored_by_git(const std::string& folder, const std::string& path) {
  const auto git = base::find_executable("git", path);
  if (!git) return {};
  const auto asked = base::run_tool({*git, "-C", folder, "ls-files", "-z", "--others", "--ignored",
                                     "--exclude-standard", "--directory"},
                                    kGitAnswerMax);
  if (!asked || asked->status.code != 0) return {};
  std::vector<std::string> ignored;
  for (std::string_view name : base::split(asked->out, '\0')) {
    if (name.ends_with('/')) name.remove_suffix(1);
    if (!name.empty() && name != ".") ignored.emplace_back(name);
  }
  return ignored;
}

std::string variable_of(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
  }
  return {};
}

struct Packed {
  std::string bytes;
  std::size_t files = 0;
};

// Packs a copy, which does not change meanwhile.
Result<Packed> pack_folder(const std::string& from, const RunPlan& plan) {
  const std::string path = variable_of(plan.request.workers.environment, "PATH");
  std::vector<std::string> left_out = ignored_by_git(from, path);
  for (const std::string* const own :
       {&plan.request.workers.cache_directory, &plan.places.log_directory}) {
    if (std::string inside = moved_path(*own, from, ""); inside.size() > 1) {
      left_out.push_back(inside.substr(1));
    }
  }
  const std::string copy = plan.places.run_directory + "/code.new";
  std::error_code error;
  auto copied = base::copy_code(from, copy, plan.places.run_directory, std::move(left_out));
  auto packed =
      copied ? bootstrap::pack_code(copy, copied->manifest) : std::unexpected(copied.error());
  fs::remove_all(copy, error);
  if (!packed) return std::unexpected(std::move(packed).error());
  return Packed{*std::move(packed), copied->files};
}

}  // namespace

bool move_code(const std::string& from, const std::string& to, wire::WorkerTemplate& workers) {
  const std::string directory = workers.working_directory;
  std::string moved = moved_path(directory, from, to);
  bool is_in_it = !moved.empty();
  if (is_in_it) workers.working_directory = std::move(moved);
  const bool is_file =
      workers.mode != wire::LaunchMode::kModule && workers.program.find('/') != std::string::npos;
  if (is_file) {
    const bool is_absolute = workers.program.starts_with('/');
    const std::string program = is_absolute ? workers.program : directory + "/" + workers.program;
    moved = moved_path(program, from, to);
    if (!moved.empty() && (is_absolute || !is_in_it)) workers.program = moved;
    is_in_it = is_in_it || !moved.empty();
  }
  if (!workers.deps.empty()) move_entry(workers.deps, from, to);
  for (std::string& entry : workers.environment) {
    if (entry == "PWD=" + directory) entry = "PWD=" + workers.working_directory;
    constexpr std::string_view kPythonPath = "PYTHONPATH=";
    if (!entry.starts_with(kPythonPath)) continue;
    std::vector<std::string> folders;
    const std::string list = entry.substr(kPythonPath.size());
    for (const std::string_view folder : base::split(list, ':')) {
      folders.emplace_back(folder);
      move_entry(folders.back(), from, to);
    }
    entry = std::string(kPythonPath) + base::join(folders, ":");
  }
  return is_in_it;
}

base::Status sync_code(RunPlan& plan) {
  if (plan.sync_code.empty()) return {};
  wire::WorkerTemplate& workers = plan.request.workers;
  std::error_code error;
  const std::string from = fs::canonical(plan.sync_code, error).string();
  if (error) return base::fail_errno("cannot read the folder " + plan.sync_code, error.value());
  const Packed packed = RR_TRY(pack_folder(from, plan));
  wire::SyncedCode code{base::to_hex(base::sha256(packed.bytes)), packed.bytes.size(), from};
  const std::string to = bootstrap::code_folder(workers.cache_directory, code.digest);
  if (!move_code(from, to, workers)) {
    return base::fail(base::Errc::kInvalidArgument,
                      fmt::format("cannot use --sync-code={}: neither the working directory {} nor "
                                  "the script {} is in it; name the folder that holds them",
                                  plan.sync_code, workers.working_directory, workers.program));
  }
  RR_TRY(base::write_file_atomically(supervisor::code_pack_file(plan.request.run_directory),
                                     packed.bytes, kPackMode));
  RR_LOG(kInfo, {}, "sending the code in {} to every node: {} files, {} KiB", from, packed.files,
         (packed.bytes.size() + 1023) / 1024);
  workers.code = std::move(code);
  return {};
}

}  // namespace robustrun::cli
