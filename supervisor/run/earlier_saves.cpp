#include "supervisor/run/earlier_saves.h"

#include <fmt/format.h>

#include "supervisor/limits.h"
#include "supervisor/run_dir/journal.h"

namespace robustrun::supervisor {

EarlierSaves earlier_saves(const std::string& directory, std::uint32_t requeues) {
  EarlierSaves saves;
  std::size_t damaged = 0;
  const auto note = [&](const std::string& trouble) {
    if (++damaged == 1) saves.trouble = trouble;
  };
  const std::string own = "-" + std::to_string(requeues);
  if (requeues == 0 || !directory.ends_with(own)) return saves;
  const std::string first = directory.substr(0, directory.size() - own.size());
  for (std::uint32_t back = 1; back <= requeues && back <= kEarlierStartsRead; ++back) {
    const std::uint32_t start = requeues - back;
    const auto readout =
        read_run_journal((start == 0 ? first : first + "-" + std::to_string(start)) + "/journal");
    if (!readout) {
      if (readout.error().code != base::Errc::kNotFound) {
        note(readout.error().what + "; how long saves took in that start is not known");
      }
      continue;
    }
    if (!readout->damage.empty()) note(readout->damage);
    SaveTimes of_start;
    for (const JournalEntry& entry : readout->entries) of_start.take(entry);
    saves.times.add(of_start);
  }
  if (damaged > 1) {
    saves.trouble += fmt::format(" ({} journals of earlier starts have damage)", damaged);
  }
  return saves;
}

}  // namespace robustrun::supervisor
