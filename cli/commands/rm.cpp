// `robustrun rm`: removes runs that ended, never others.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/core/words.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
#include "cli/options/values.h"
#include "cli/runs/find_run.h"
#include "cli/runs/run_chain.h"
#include "cli/runs/run_rows.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/run_dir/run_lock.h"

namespace robustrun::cli {
namespace {

// Why this run stays; empty: it may go.
std::string obstacle(const RunRow& row) {
  if (!row.trouble.empty()) {
    return row.trouble + "; remove its folder by hand if you do not need it";
  }
  if (row.life == RunLife::kLive) return "it is active; `robustrun stop` ends it";
  if (row.life == RunLife::kUnattended) {
    return "it has not ended: its supervisor is dead or on another machine; `robustrun resume` "
           "continues it, or remove its folder by hand";
  }
  return "";
}

// Whether some start of the run's Slurm job stays: it uses files of the earlier ones.
bool is_chain_in_use(const KnownRun& run, const Surroundings& around) {
  return std::ranges::any_of(chain_of(run.directory).starts, [&](const KnownRun& start) {
    return !obstacle(row_of(start, around)).empty();
  });
}

class Removal {
 public:
  Removal(const Surroundings& around, bool dry_run) : around_(around), dry_run_(dry_run) {}

  void remove(const RunRow& row) {
    const std::uint64_t bytes = bytes_below(row.directory);
    if (!dry_run_) {
      // A `resume` that began after we looked keeps its run.
      const auto lock = supervisor::RunLock::take(row.directory);
      if (!lock) return keep(row, lock.error().what);
      std::error_code error;
      std::filesystem::remove_all(row.directory, error);
      if (error) return keep(row, error.message());
      forget_run(around_, row.directory);
    }
    print(row.directory + "\n");
    ++removed_;
    bytes_ += bytes;
  }
  void keep(const RunRow& row, const std::string& why) {
    say(fmt::format("cannot remove the run {}: {}", row.id, why));
    failed_ = true;
  }
  int end() const {
    say(fmt::format("{} {}, {:.1f} MB", base::counted(removed_, "run"),
                    dry_run_ ? "would be removed" : "removed", static_cast<double>(bytes_) / 1e6));
    return failed_ ? supervisor::kExitFailure : 0;
  }

 private:
  const Surroundings& around_;
  bool dry_run_;
  std::uint64_t removed_ = 0;
  std::uint64_t bytes_ = 0;
  bool failed_ = false;
};

}  // namespace

int rm_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_rm_line(argv);
  if (!line) return complain_of_usage(around, "rm", line.error().what);
  if (line->help) {
    print(command_help("rm", terminal_columns(around)));
    return 0;
  }
  Removal removal(around, line->dry_run);
  if (!line->older_than) {
    std::vector<RunRow> rows;
    std::set<std::string> seen;
    for (const std::string& run : line->runs) {
      const auto journal = find_journal(run, around);
      if (!journal) return complain(journal.error());
      const std::filesystem::path directory = std::filesystem::path(*journal).parent_path();
      // The id of a Slurm job stands for all of its starts, a directory for one.
      const bool is_job = run == chain_id(directory.filename().string());
      for (const KnownRun& one : chain_of(directory).starts) {
        if (!is_job && one.directory != directory) continue;
        RunRow row = row_of(one, around);
        const bool stays = is_job && obstacle(row).empty() && is_chain_in_use(one, around);
        if (!stays && seen.insert(one.directory).second) rows.push_back(std::move(row));
      }
    }
    for (const RunRow& row : rows) {
      const std::string why = obstacle(row);
      why.empty() ? removal.remove(row) : removal.keep(row, why);
    }
    return removal.end();
  }
  const auto age = parse_duration(*line->older_than);
  if (!age) {
    return complain_of_usage(
        around, "rm",
        fmt::format("argument --older-than: invalid time: '{}' (seconds, or 90s, 15m, 2h, 1d)",
                    *line->older_than));
  }
  // By the last word of the journal: a long run that ended today is not old.
  for (const KnownRun& run : known_runs(around)) {
    if (around.wall_time - run.touched < *age) continue;
    const RunRow row = row_of(run, around);
    if (!row.trouble.empty()) {
      removal.keep(row, obstacle(row));
    } else if (obstacle(row).empty() && !is_chain_in_use(run, around)) {
      removal.remove(row);
    }
  }
  return removal.end();
}

}  // namespace robustrun::cli
