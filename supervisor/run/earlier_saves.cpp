#include "supervisor/run/earlier_saves.h"

#include "supervisor/limits.h"
#include "supervisor/run_dir/journal.h"

namespace robustrun::supervisor {

SaveTimes earlier_saves(const std::string& directory, std::uint32_t restarts) {
  SaveTimes saves;
  const std::string own = "-" + std::to_string(restarts);
  if (restarts == 0 || !directory.ends_with(own)) return saves;
  const std::string first = directory.substr(0, directory.size() - own.size());
  for (std::uint32_t back = 1; back <= restarts && back <= kEarlierStartsRead; ++back) {
    const std::uint32_t start = restarts - back;
    const auto readout =
        read_run_journal((start == 0 ? first : first + "-" + std::to_string(start)) + "/journal");
    if (!readout) continue;
    SaveTimes of_start;
    for (const JournalEntry& entry : readout->entries) of_start.take(entry);
    saves.add(of_start);
  }
  return saves;
}

}  // namespace robustrun::supervisor
