#include "cli/runs/run_chain.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <variant>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/runs/read_journal.h"
#include "cli/text/terminal.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

constexpr std::string_view kSlurmRun = "slurm-";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool shows_worker(const supervisor::JournalEntry& entry) {
  const auto* const event = std::get_if<supervisor::Event>(&entry.what);
  return event != nullptr && std::holds_alternative<supervisor::WorkerStarted>(event->body);
}

void finish(RunChain& chain) {
  std::ranges::sort(chain.starts, base::natural_less, &KnownRun::id);
  if (chain.starts.size() == 1) chain.id = chain.starts.front().id;
}

}  // namespace

std::string chain_id(std::string_view run_id) {
  if (!run_id.starts_with(kSlurmRun)) return std::string(run_id);
  const std::string_view rest = run_id.substr(kSlurmRun.size());
  const auto dash = rest.find('-');
  const bool is_start = dash != std::string_view::npos && is_number(rest.substr(0, dash)) &&
                        is_number(rest.substr(dash + 1));
  return std::string(is_start ? run_id.substr(0, kSlurmRun.size() + dash) : run_id);
}

std::vector<RunChain> chains_of(const std::vector<KnownRun>& runs) {
  std::vector<RunChain> chains;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const KnownRun& run : runs) {
    const std::string folder = std::filesystem::path(run.directory).parent_path();
    const std::string id = chain_id(run.id);
    const auto [place, is_new] = known.emplace(std::pair(folder, id), chains.size());
    if (is_new) chains.push_back({id, {}});
    chains[place->second].starts.push_back(run);
  }
  for (RunChain& chain : chains) finish(chain);
  return chains;
}

RunChain chain_of(const std::string& run_directory) {
  namespace fs = std::filesystem;
  const fs::path own(run_directory);
  RunChain chain;
  chain.id = chain_id(own.filename().string());
  chain.starts.push_back({own.filename(), run_directory, {}});
  if (!chain.id.starts_with(kSlurmRun)) return chain;
  std::error_code error;
  for (fs::directory_iterator entry(own.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    std::error_code unread;
    if (name == own.filename() || chain_id(name) != chain.id ||
        !fs::exists(entry->path() / "journal", unread)) {
      continue;
    }
    chain.starts.push_back({name, entry->path(), {}});
  }
  finish(chain);
  return chain;
}

VainStarts vain_starts(const std::string& run_directory) {
  VainStarts vain;
  std::vector<KnownRun> starts = chain_of(run_directory).starts;
  while (!starts.empty() && starts.back().directory != run_directory) starts.pop_back();
  for (; !starts.empty() && vain.count < kVainStartsMax; starts.pop_back()) {
    const auto readout = read_journal(starts.back().directory + "/journal");
    if (!readout || std::ranges::any_of(readout->entries, shows_worker)) break;
    const supervisor::RunReport report = supervisor::build_report(readout->entries);
    if (report.exit_code != supervisor::kExitInfrastructure ||
        report.outcome != supervisor::RunOutcome::kFailed) {
      break;
    }
    if (vain.count++ == 0) vain.reason = report.reason;
  }
  return vain;
}

std::vector<supervisor::EarlierStart> earlier_starts(const std::string& run_directory) {
  std::vector<supervisor::EarlierStart> earlier;
  for (const KnownRun& run : chain_of(run_directory).starts) {
    if (run.directory == run_directory) break;
    const auto readout = read_journal(run.directory + "/journal");
    if (!readout) {
      say(readout.error().what + "; this start is left out");
      continue;
    }
    const supervisor::RunReport report = supervisor::build_report(readout->entries);
    earlier.push_back({run.id, run.directory, report.exit_code, report.started, report.duration,
                       report.steps, static_cast<std::uint32_t>(report.incidents.size()),
                       report.reason});
  }
  return earlier;
}

}  // namespace robustrun::cli
