#include "cli/runs/find_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/core/text.h"
#include "cli/options/values.h"
#include "cli/placement/places.h"
#include "cli/runs/run_chain.h"
#include "cli/runs/run_index.h"
#include "cli/text/terminal.h"
#include "supervisor/control/client.h"
#include "supervisor/control/file.h"
#include "supervisor/run_dir/journal.h"
#include "supervisor/run_dir/saved_request.h"

namespace robustrun::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJournal = "/journal";

bool is_below(const KnownRun& run, const std::string& folder) {
  return run.directory.starts_with(folder + "/");
}

// Runs started in this folder come first: a command without a RUN most likely means one of them.
base::Result<std::string> newest(const Surroundings& around) {
  const std::vector<KnownRun> runs = known_runs(around);
  const std::string here = runs_folder(around);
  for (const bool in_this_folder : {true, false}) {
    for (const KnownRun& run : runs) {
      if (in_this_folder != is_below(run, here)) continue;
      const auto readout = supervisor::read_run_journal(run.directory + kJournal);
      if (readout) return run.directory + kJournal;
      say(readout.error().what + "; this run is skipped");
    }
  }
  return base::fail(base::Errc::kNotFound,
                    fmt::format("found no run in {} or elsewhere; pass a run's directory", here));
}

// Directories of active runs, those of this folder or else all; the one that began last comes
// first.
std::vector<std::string> live_runs(const Surroundings& around) {
  using Found = std::pair<fs::file_time_type, std::string>;
  std::vector<Found> here;
  std::vector<Found> elsewhere;
  for (const KnownRun& run : known_runs(around)) {
    std::error_code error;
    const auto began = fs::last_write_time(supervisor::control_file(run.directory), error);
    if (error || !is_live(run.directory)) continue;
    (is_below(run, runs_folder(around)) ? here : elsewhere).emplace_back(began, run.directory);
  }
  std::vector<Found>& found = here.empty() ? elsewhere : here;
  std::ranges::sort(found, std::greater{});
  std::vector<std::string> directories;
  for (auto& [began, directory] : found) directories.push_back(std::move(directory));
  return directories;
}

// Directories of runs whose supervisor was killed on this machine. Their workers may live on.
std::vector<std::string> lost_runs(const Surroundings& around) {
  std::vector<std::string> lost;
  for (const KnownRun& run : known_runs(around)) {
    const auto file = supervisor::read_control_file(run.directory);
    if (!file || file->host != supervisor::this_host() || is_live(run.directory)) continue;
    lost.push_back(run.directory);
  }
  return lost;
}

std::string resume_words(const std::string& directory) {
  return fmt::format("the supervisor of run {0} is gone; `robustrun resume {0}` takes it over",
                     fs::path(directory).filename().string());
}

std::vector<std::string> names_of(const std::vector<std::string>& directories) {
  std::vector<std::string> names;
  for (const std::string& directory : directories) names.push_back(fs::path(directory).filename());
  return names;
}

}  // namespace

bool is_live(const std::string& run_directory) {
  const auto client = supervisor::ControlClient::connect(run_directory);
  return client || client.error().code == base::Errc::kTimeout;  // it is busy
}

base::Result<std::string> find_journal(const std::string& run, const Surroundings& around) {
  if (run.empty() || run == kLatest) {
    const std::vector<KnownRun> runs = known_runs(around);
    if (run.empty() || runs.empty()) return newest(around);
    return runs.front().directory + kJournal;
  }
  const std::string path = around.absolute(run);
  if (around.machine->kind(path + kJournal) != PathKind::kMissing) return path + kJournal;
  std::vector<std::string> ids;
  for (const KnownRun& known : known_runs(around)) {
    // The name of a Slurm job's first start means the job, of which the newest start counts.
    if (known.id == run || chain_id(known.id) == run) return known.directory + kJournal;
    ids.push_back(known.id);
  }
  // Runs whose directory has another name: of submitted jobs, --run-dir and the demo.
  for (const KnownRun& known : known_runs(around)) {
    const auto saved = supervisor::load_request(known.directory);
    if (saved && saved->spec.run_id == run) return known.directory + kJournal;
  }
  return base::fail(
      base::Errc::kNotFound,
      fmt::format("cannot find the run {}: none has this id, and there is no directory with a "
                  "journal{}; `robustrun ls` lists runs",
                  run, did_you_mean(run, ids)));
}

base::Result<std::string> find_run(const std::string& run, Pick pick, const Surroundings& around) {
  if (run.empty()) {
    const std::vector<std::string> live = live_runs(around);
    if (pick == Pick::kTheLiveOne && live.size() > 1) {
      return base::fail(base::Errc::kConflict,
                        fmt::format("{} active runs, pass an id: {}", live.size(),
                                    base::join(names_of(live), ", ")));
    }
    if (live.empty() && pick != Pick::kLiveFirst) {
      const std::vector<std::string> lost = lost_runs(around);
      if (!lost.empty()) {
        return base::fail(base::Errc::kNotFound, "no active run; " + resume_words(lost.front()));
      }
      return base::fail(base::Errc::kNotFound,
                        "no active run; pass a run's id or directory (`robustrun ls` lists runs)");
    }
    if (!live.empty()) {
      say(fmt::format(
          "run {}{}", fs::path(live.front()).filename().string(),
          live.size() > 1 ? fmt::format(", the newest of {} active runs", live.size()) : ""));
      return live.front();
    }
  }
  const fs::path directory = fs::path(RR_TRY(find_journal(run, around))).parent_path();
  if (run.empty()) {
    const std::vector<std::string> lost = lost_runs(around);
    const bool is_lost = std::ranges::find(lost, directory.string()) != lost.end();
    say(fmt::format(
        "run {}, the newest; {}", directory.filename().string(),
        is_lost ? "its supervisor is gone, and its workers may live on" : "no run is active"));
  }
  return directory.string();
}

}  // namespace robustrun::cli
