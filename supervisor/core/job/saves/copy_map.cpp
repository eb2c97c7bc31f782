#include "supervisor/core/job/saves/copy_map.h"

#include <algorithm>
#include <utility>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

// Each place is a keeper once, and none is its own.
bool is_a_map(const std::vector<std::uint32_t>& keepers, std::size_t places) {
  if (keepers.size() != places) return false;
  std::vector<bool> is_taken(places, false);
  for (std::uint32_t place = 0; place < keepers.size(); ++place) {
    const std::uint32_t keeper = keepers[place];
    if (keeper >= places || keeper == place || is_taken[keeper]) return false;
    is_taken[keeper] = true;
  }
  return true;
}

}  // namespace

bool CopyMap::take(const BackupSolved& answer, std::size_t places) {
  if (answer.digest != asked || solved == asked) return false;
  solved = asked;
  std::vector<std::uint32_t> news;
  std::string how = "no node: the answer cannot be used";
  if (answer.keepers.empty() || is_a_map(answer.keepers, places)) {
    news = answer.keepers;
    how = answer.keepers.empty() ? "no node: " + answer.text : answer.text;
  }
  const bool is_new = news != keepers || how != text || answer.is_relaxed != is_relaxed;
  keepers = std::move(news);
  text = std::move(how);
  is_relaxed = answer.is_relaxed;
  if (is_new) is_said = false;
  return is_new;
}

void CopyMap::begin_attempt(base::Attempt now, std::vector<CopyHolder> members, std::size_t world) {
  attempt = now;
  if (!keepers.empty() && keepers.size() != members.size()) {  // of a group of another size
    keepers.clear();
    solved = 0;
  }
  holders = std::move(members);
  if (ranks.size() != world) ranks.assign(world, {});
  saves.clear();
}

void CopyMap::take(const CopiesKept& kept, std::uint32_t place, std::uint32_t first,
                   std::uint32_t slots) {
  const CopyHolder keeper = keeper_of(place);
  for (const KeptCopy& copy : kept.copies) {
    const std::uint32_t rank = copy.rank.value;
    if (rank < first || rank - first >= slots || rank >= ranks.size()) continue;
    RankCopies& known = ranks[rank];
    if (!copy.here && !copy.at_peer && known.owner != holders[place]) continue;  // not yet
    // An agent that was relaunched does not know what its keeper still has.
    const bool was_there = known.at_peer && known.keeper == keeper && known.owner != holders[place];
    known.owner = holders[place];
    known.here = copy.here;
    known.keeper = keeper;
    known.at_peer = keeper.node != kNoNode && (copy.at_peer || was_there);
    known.is_ordered = false;
  }
}

bool CopyMap::take(const HeldCopiesSaved& answer, base::NodeId from) {
  const auto found = std::ranges::find(saves, answer.order, &SaveOrder::order);
  if (found == saves.end() || found->keeper.node != from || found->is_over) return false;
  found->is_over = true;
  found->saved = answer.saved;
  found->goes_on = answer.saving;
  found->errors.assign(answer.errors.begin(),
                       answer.errors.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min(answer.errors.size(), kEvidenceMax)));
  return true;
}

void CopyMap::give_up(const CopyHolder& keeper, const std::string& why) {
  for (SaveOrder& save : saves) {
    if (save.is_over || save.keeper != keeper) continue;
    save.is_over = true;
    save.errors.push_back(why);
  }
}

void CopyMap::goes_on(const CopyHolder& holder, base::Attempt made_in, std::uint64_t order) {
  going_on.push_back({holder, made_in, order});
}

// Copies of one attempt are saved at a time: news of a later attempt ends those before, too.
bool CopyMap::take(const SavingOver& over, base::NodeId from) {
  return std::erase_if(going_on, [&](const GoingSave& save) {
           return save.holder.node == from && save.order == over.order &&
                  save.made_in <= over.made_in;
         }) > 0;
}

void CopyMap::lose(base::NodeId node) {
  const auto lost =
      std::erase_if(going_on, [&](const GoingSave& save) { return save.holder.node == node; });
  is_cut_off = is_cut_off || lost > 0;
}

bool CopyMap::saves_its_own(const CopyHolder& holder) const {
  return std::ranges::any_of(
      going_on, [&](const GoingSave& save) { return save.holder == holder && save.order == 0; });
}

bool CopyMap::is_saving() const {
  return std::ranges::find(saves, false, &SaveOrder::is_over) != saves.end();
}

bool CopyMap::has_copies() const { return std::ranges::any_of(ranks, &RankCopies::is_any); }

std::vector<base::Rank> CopyMap::unsecured() const {
  std::vector<base::Rank> found;
  if (keepers.empty()) return found;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].here && !ranks[rank].at_peer) found.push_back({rank});
  }
  return found;
}

CopyHolder CopyMap::keeper_of(std::size_t place) const {
  return place < keepers.size() ? holders[keepers[place]] : CopyHolder{};
}

}  // namespace robustrun::supervisor
