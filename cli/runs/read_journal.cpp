#include "cli/runs/read_journal.h"

#include <set>

#include "cli/text/terminal.h"

namespace robustrun::cli {

base::Result<supervisor::JournalReadout> read_journal(const std::string& path) {
  static std::set<std::string> told;
  auto readout = supervisor::read_run_journal(path);
  if (readout && readout->entries.empty() && readout->damage.empty()) {
    readout->damage = path + " has no record: its run has just begun, or it is damaged";
  }
  if (readout && !readout->damage.empty() && told.insert(readout->damage).second) {
    say(readout->damage);
  }
  return readout;
}

void note_damage(const std::string& run_directory) {
  if (const auto readout = read_journal(run_directory + "/journal"); !readout) {
    say(readout.error().what);
  }
}

}  // namespace robustrun::cli
