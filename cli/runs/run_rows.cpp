#include "cli/runs/run_rows.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "cli/runs/find_run.h"
#include "cli/runs/read_journal.h"
#include "supervisor/control/file.h"
#include "supervisor/core/status/status.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kFilesCountedMax = 100'000;

base::Nanos changed_at(const KnownRun& run) {
  struct stat status{};
  if (::stat((run.directory + "/journal").c_str(), &status) != 0) return {};
  return std::chrono::seconds(status.st_mtim.tv_sec);
}

}  // namespace

RunRow row_of(const KnownRun& run, const Surroundings& around) {
  RunRow row;
  row.id = run.id;
  row.directory = run.directory;
  const auto readout = read_journal(run.directory + "/journal");
  if (!readout) {
    row.trouble = readout.error().what;
    return row;
  }
  const supervisor::RunStatus status = supervisor::status_of_journal(readout->entries);
  row.program = status.program;
  row.state = supervisor::to_string(status.state);
  row.exit_code = status.exit_code;
  row.workers = status.workers;
  row.nodes = static_cast<std::uint32_t>(std::ranges::count_if(
      status.nodes, [](const supervisor::NodeStatus& node) { return node.node_rank.has_value(); }));
  // Of a journal that has lost its first record only the last change is known.
  const base::Nanos began = status.started > base::Nanos{} ? status.started : changed_at(run);
  row.age = around.wall_time - began;
  row.step = status.step;
  if (!row.step && status.steps > 0) row.step = static_cast<std::int64_t>(status.steps);
  const supervisor::RunReport report = supervisor::build_report(readout->entries);
  row.incidents = static_cast<std::uint32_t>(report.incidents.size());
  row.was_stopped = report.outcome == supervisor::RunOutcome::kStopped;
  if (const auto file = supervisor::read_control_file(run.directory)) row.host = file->host;
  if (!status.exit_code) {
    row.life = is_live(run.directory) ? RunLife::kLive : RunLife::kUnattended;
  }
  return row;
}

RunRow row_of(const RunChain& chain, const Surroundings& around) {
  RunRow whole = row_of(chain.starts.back(), around);
  whole.id = chain.id;
  whole.starts = static_cast<std::uint32_t>(chain.starts.size());
  whole.bytes = 0;
  for (const KnownRun& run : chain.starts) {
    whole.bytes += bytes_below(run.directory);
    if (run.directory == chain.starts.back().directory) continue;
    const RunRow earlier = row_of(run, around);
    if (!earlier.trouble.empty()) continue;
    whole.incidents += earlier.incidents;
    whole.age = std::max(whole.age, earlier.age);
  }
  return whole;
}

std::uint64_t bytes_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::uint64_t bytes = 0;
  std::size_t files = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator
           entry(folder, fs::directory_options::skip_permission_denied, error),
       end;
       !error && entry != end && files < kFilesCountedMax; entry.increment(error)) {
    std::error_code unread;
    if (!entry->is_regular_file(unread) || entry->is_symlink(unread)) continue;
    const auto size = entry->file_size(unread);
    if (!unread) bytes += size;
    ++files;
  }
  return bytes;
}

}  // namespace robustrun::cli
