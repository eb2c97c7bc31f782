#include "supervisor/core/job/saves/copies.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace robustrun::supervisor {

// The attempt does not wait for the answer: until it comes, the previous map counts.
void Copies::ask() {
  if (!can_keep_copies(facts())) return;
  SolveBackup question = backup_question(facts());
  if (question.digest == map_.solved) return;
  map_.asked = question.digest;
  orders_.give(std::move(question));
}

void Copies::backup_solved(const Event& event) {
  const auto& answer = body<BackupSolved>(event);
  if (!can_keep_copies(facts()) || backup_question(facts()).digest != answer.digest) return;
  const bool is_news = map_.take(answer, group_.size());
  if (is_news && orders_.workers_may_run() && orders_.state() != JobState::kStopping) place();
  say_keepers();
}

// Reported once workers make copies: most jobs of several nodes make none.
void Copies::say_keepers() {
  if (map_.is_said || map_.attempt != orders_.attempt() || !map_.has_copies()) return;
  map_.is_said = true;
  orders_.decide(Rule::kCopiesPlaced, "copies in memory are kept by " + map_.text,
                 keepers_in_words(facts()));
}

void Copies::begin_attempt() {
  map_.begin_attempt(orders_.attempt(), copy_holders(facts()), group_.plan().world_size());
  if (!can_keep_copies(facts())) {
    map_.keepers.clear();
    map_.solved = 0;
  }
  place();
  map_.is_awaited = !map_.going_on.empty();
}

// Agents that were sent a map are also told when it no longer holds.
void Copies::place() {
  if (!map_.is_placed && map_.keepers.empty() && !map_.has_copies()) return;
  std::vector<PlaceCopies> orders = copy_orders(facts());
  const bool is_any = std::ranges::any_of(
      orders, [](const PlaceCopies& order) { return !order.send.empty() || !order.fetch.empty(); });
  if (!is_any && !map_.is_placed) return;
  map_.is_placed = true;
  for (PlaceCopies& order : orders) {
    if (!nodes_.at(order.node).bulk.empty()) orders_.give(std::move(order));
  }
}

void Copies::kept(const Event& event) {
  const auto place = std::ranges::find(group_, event.node);
  if (place == group_.end() || map_.attempt != orders_.attempt()) return;
  const auto index = static_cast<std::uint32_t>(place - group_.begin());
  map_.take(body<CopiesKept>(event), index, group_.plan().first_rank[index],
            group_.plan().places[index].slots);
  say_keepers();
}

void Copies::save_held() {
  map_.is_cut_off = false;
  std::vector<base::Rank> gone;
  std::vector<SaveOrder> fresh;
  for (const base::Rank rank : orphaned_ranks(facts())) {
    RankCopies& of_rank = map_.ranks[rank.value];
    const bool is_lost = !is_there(facts(), of_rank.owner);
    of_rank.is_ordered = true;
    if (!of_rank.at_peer || !is_there(facts(), of_rank.keeper)) {
      if (is_lost) gone.push_back(rank);
      continue;
    }
    auto save = std::ranges::find(fresh, of_rank.keeper, &SaveOrder::keeper);
    if (save == fresh.end()) {
      save =
          fresh.insert(fresh.end(), {++map_.orders, of_rank.keeper, {}, {}, false, 0, {}, false});
    }
    save->ranks.push_back(rank);
    auto& owners = save->owners;
    if (std::ranges::find(owners, of_rank.owner.node) == owners.end()) {
      owners.push_back(of_rank.owner.node);
    }
  }
  if (!gone.empty()) {
    orders_.decide(Rule::kCopiesLost,
                   fmt::format("the copies in memory of {} are lost with {}: {}",
                               owners_in_words(facts(), gone),
                               loss_of_copies_in_words(facts(), gone), fallback_in_words(facts())));
  }
  for (SaveOrder& save : fresh) {
    orders_.give(SaveHeldCopies{save.keeper.node, map_.attempt, save.order, save.ranks});
    map_.saves.push_back(std::move(save));
  }
}

void Copies::repeat_saves() {
  for (const SaveOrder& save : map_.saves) {
    if (save.is_over) continue;
    orders_.give(SaveHeldCopies{save.keeper.node, map_.attempt, save.order, save.ranks});
  }
}

void Copies::say_saved() {
  if (map_.saves.empty() || map_.is_saving()) return;
  orders_.give(saved_in_words(facts()));
  map_.saves.clear();
}

bool Copies::take_saved(const Event& event) {
  const auto& answer = body<HeldCopiesSaved>(event);
  if (!map_.take(answer, event.node)) return false;
  if (answer.saving) {
    map_.goes_on({event.node, event.generation}, answer.made_in, answer.order);
  }
  say_saved();
  return true;
}

// It may owe an answer, or have copies elsewhere.
void Copies::give_up_on(base::NodeId keeper) {
  for (const SaveOrder& save : std::vector(map_.saves)) {
    if (save.keeper.node == keeper) map_.give_up(save.keeper, "its node was lost, too");
  }
  save_held();
  say_saved();
}

void Copies::note_gone(base::NodeId node, const WorkersGone& gone) {
  if (gone.saving) map_.goes_on({node, nodes_.at(node).generation}, gone.attempt, 0);
}

bool Copies::is_leaver_saving() const {
  return std::ranges::any_of(map_.going_on, [this](const GoingSave& save) {
    return save.order == 0 && !nodes_.at(save.holder.node).may_work();
  });
}

bool Copies::end_wait() {
  if (!map_.is_awaited || !map_.going_on.empty()) return false;
  map_.is_awaited = false;
  return true;
}

std::string Copies::unsecured_in_words() const { return supervisor::unsecured_in_words(map_); }

void Copies::end_saving() {
  if (!map_.is_saving()) return;
  for (const SaveOrder& save : std::vector(map_.saves)) {
    map_.give_up(save.keeper, "no answer in time");
  }
  say_saved();
}

}  // namespace robustrun::supervisor
