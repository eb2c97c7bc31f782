#include "cli/runs/read_journal.h"

#include <set>
#include <utility>
#include <variant>

#include "cli/text/terminal.h"
#include "supervisor/core/report/facts.h"

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

void bring_to_now(std::vector<supervisor::JournalEntry>& entries, base::Nanos wall_now) {
  const supervisor::Facts facts = supervisor::gather(entries);
  if (facts.run == nullptr || facts.finish != nullptr) return;
  const base::Nanos since_start = supervisor::elapsed(facts.run->wall_time, wall_now);
  const base::Nanos now = supervisor::later(facts.first_at, since_start);
  if (now <= facts.last_at) return;
  supervisor::Event event{now, {}, {}, supervisor::TimerFired{}};
  entries.push_back({now, std::move(event)});
}

void note_damage(const std::string& run_directory) {
  if (const auto readout = read_journal(run_directory + "/journal"); !readout) {
    say(readout.error().what);
  }
}

}  // namespace robustrun::cli
