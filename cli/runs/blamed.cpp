#include "cli/runs/blamed.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "cli/runs/read_journal.h"
#include "cli/runs/run_chain.h"
#include "cli/text/terminal.h"

namespace robustrun::cli {

using supervisor::NodeNote;
using supervisor::NoteKind;

std::vector<NodeNote> notes_of_chain(const std::string& run_directory,
                                     const supervisor::NodeHistory& history) {
  std::vector<NodeNote> notes;
  for (const KnownRun& run : chain_of(run_directory).starts) {
    const auto readout = read_journal(run.directory + "/journal");
    if (!readout) {
      say(readout.error().what + "; its notes about hosts are missing here");
      continue;
    }
    std::vector<NodeNote> own = supervisor::notes_of(readout->entries);
    std::ranges::move(own, std::back_inserter(notes));
  }
  std::erase_if(notes, [&](const NodeNote& note) {
    const auto found = history.forgotten.find(note.host);
    return found != history.forgotten.end() && note.wall_time <= found->second;
  });
  return notes;
}

std::vector<launcher::BlamedHost> blamed_hosts(const std::vector<NodeNote>& notes) {
  struct Blame {
    launcher::BlamedHost host;
    bool is_sure = false;
    base::Nanos at{};
  };
  std::vector<Blame> all;
  for (const NodeNote& note : notes) {
    const auto known = std::ranges::find(
        all, note.host, [](const Blame& one) -> const auto& { return one.host.name; });
    if (note.kind == NoteKind::kCleared || note.kind == NoteKind::kForgotten) {
      if (known != all.end()) all.erase(known);
      continue;
    }
    if (note.kind == NoteKind::kSlow) continue;
    const bool is_sure = note.kind != NoteKind::kHang;
    if (known == all.end()) {
      all.push_back({{note.host, std::string(to_string(note.kind))}, is_sure, note.wall_time});
      continue;
    }
    known->at = note.wall_time;
    if (is_sure && !known->is_sure) known->host.why = to_string(note.kind);
    known->is_sure = known->is_sure || is_sure;
  }
  std::ranges::stable_sort(all, std::greater{},
                           [](const Blame& one) { return std::tuple(one.is_sure, one.at); });
  std::vector<launcher::BlamedHost> hosts;
  for (Blame& one : all) hosts.push_back(std::move(one.host));
  return hosts;
}

}  // namespace robustrun::cli
