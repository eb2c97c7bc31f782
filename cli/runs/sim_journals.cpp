#include "cli/runs/sim_journals.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/runs/find_run.h"
#include "cli/runs/read_journal.h"
#include "cli/text/terminal.h"

namespace robustrun::cli {
namespace {

namespace fs = std::filesystem;
using base::Errc;

constexpr const char* kJournalFile = "journal";

base::Error unusable(Errc code, const std::string& path, const std::string& why) {
  return {code, 0, fmt::format("cannot use --from-journal {}: {}", base::printable(path), why)};
}

bool is_plain_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

base::Status add_journals(const std::string& path, const Surroundings& around,
                          std::vector<std::string>& found) {
  const fs::path place =
      path.starts_with('/') ? fs::path(path) : around.working_directory / fs::path(path);
  const std::size_t before = found.size();
  std::error_code error;
  if (is_plain_file(place)) {
    found.push_back(place.lexically_normal());
  } else if (is_plain_file(place / kJournalFile)) {
    found.push_back((place / kJournalFile).lexically_normal());
  } else if (fs::is_directory(place, error)) {
    for (fs::directory_iterator entry(place, error), end; !error && entry != end;
         entry.increment(error)) {
      if (!is_plain_file(entry->path() / kJournalFile)) continue;
      found.push_back((entry->path() / kJournalFile).lexically_normal());
      if (found.size() > kSimJournalsMax) break;
    }
    if (error) return std::unexpected(unusable(Errc::kOs, path, error.message()));
  } else {
    auto named = find_journal(path, around);
    if (!named) return std::unexpected(unusable(named.error().code, path, named.error().what));
    found.push_back(*std::move(named));
  }
  if (found.size() == before) {
    return std::unexpected(
        unusable(Errc::kNotFound, path, "there is no journal in it, nor in its directories"));
  }
  if (found.size() > kSimJournalsMax) {
    return std::unexpected(
        unusable(Errc::kLimit, path, fmt::format("more than {} journals", kSimJournalsMax)));
  }
  return {};
}

}  // namespace

base::Result<std::vector<std::string>> find_sim_journals(const std::vector<std::string>& paths,
                                                         const Surroundings& around) {
  std::vector<std::string> found;
  for (const std::string& path : paths) RR_TRY(add_journals(path, around, found));
  std::ranges::sort(found);
  const auto again = std::ranges::unique(found);
  found.erase(again.begin(), again.end());
  return found;
}

base::Result<std::vector<simulator::RunRecord>> read_sim_journals(
    const std::vector<std::string>& journals) {
  std::vector<simulator::RunRecord> records;
  for (const std::string& path : journals) {
    const supervisor::JournalReadout readout = RR_TRY(read_journal(path));
    if (readout.torn_bytes > 0) {
      say(fmt::format("{}: {} bytes after its last complete record are skipped", path,
                      readout.torn_bytes));
    }
    simulator::RunRecord record = simulator::record_of(run_name(path), readout.entries);
    if (record.nodes == 0) {
      say(fmt::format("{} is skipped: it names no nodes of a run", path));
      continue;
    }
    records.push_back(std::move(record));
  }
  if (records.empty()) {
    return base::fail(Errc::kInvalidArgument, "cannot use --from-journal: no journal holds a run");
  }
  return records;
}

std::string run_name(const std::string& journal) {
  const fs::path path(journal);
  return path.filename() == kJournalFile ? path.parent_path().filename() : path.filename();
}

}  // namespace robustrun::cli
