#include "supervisor/core/status/node_standing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/core/words.h"

namespace robustrun::supervisor {
namespace {

std::uint32_t weight_of(NoteKind kind) {
  switch (kind) {
    case NoteKind::kLost:
    case NoteKind::kUnfit: return kSureWeight;
    case NoteKind::kHang:
    case NoteKind::kSlow: return kUnsureWeight;
    case NoteKind::kCleared:
    case NoteKind::kForgotten: break;
  }
  return 0;
}

NodeStanding standing_of(const std::string& host, std::vector<NodeNote> notes) {
  std::ranges::stable_sort(notes, std::greater{}, &NodeNote::wall_time);
  NodeStanding standing;
  standing.host = host;
  standing.last = notes.front().wall_time;
  const auto cleared = std::ranges::find(notes, NoteKind::kCleared, &NodeNote::kind);
  standing.was_cleared = cleared == notes.begin();
  std::set<std::pair<std::string, NoteKind>> counted;
  std::set<std::string> runs;
  for (auto it = notes.begin(); it != cleared; ++it) {
    if (counted.emplace(it->run_id, it->kind).second) standing.weight += weight_of(it->kind);
    runs.insert(it->run_id);
    standing.notes.push_back(std::move(*it));
  }
  standing.runs = static_cast<std::uint32_t>(runs.size());
  standing.is_offender = standing.weight >= kOffenderWeight && standing.runs >= kOffenderRuns;
  return standing;
}

}  // namespace

std::vector<NodeStanding> standings(std::vector<NodeNote> notes, base::Nanos now) {
  std::map<std::string, std::vector<NodeNote>> by_host;
  for (NodeNote& note : notes) {
    if (now - note.wall_time > kNoteCounts) continue;
    std::vector<NodeNote>& own = by_host[note.host];
    own.push_back(std::move(note));
  }
  std::vector<NodeStanding> all;
  for (auto& [host, own] : by_host) all.push_back(standing_of(host, std::move(own)));
  std::ranges::stable_sort(all, std::greater{}, [](const NodeStanding& standing) {
    return std::tuple(standing.is_offender, standing.weight, standing.last);
  });
  return all;
}

std::string in_words(const NodeStanding& standing) {
  std::array<std::set<std::string>, kNoteKinds> runs;
  for (const NodeNote& note : standing.notes) {
    runs[static_cast<std::size_t>(note.kind)].insert(note.run_id);
  }
  std::string words;
  for (std::size_t kind = 0; kind < kNoteKinds; ++kind) {
    if (runs[kind].empty()) continue;
    words +=
        fmt::format("{}{} in {}", words.empty() ? "" : ", ", to_string(static_cast<NoteKind>(kind)),
                    base::counted(runs[kind].size(), "run"));
  }
  if (!words.empty()) return words;
  return standing.was_cleared ? "cleared by a full check" : "nothing that counts";
}

}  // namespace robustrun::supervisor
