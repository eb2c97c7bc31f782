#include "cli/runs/read_journal.h"

#include <set>

#include "cli/text/terminal.h"

namespace robustrun::cli {

base::Result<supervisor::JournalReadout> read_journal(const std::string& path) {
  static std::set<std::string> told;
  auto readout = supervisor::read_run_journal(path);
  if (readout && !readout->damage.empty() && told.insert(readout->damage).second) {
    say(readout->damage);
  }
  return readout;
}

}  // namespace robustrun::cli
