// Copies in the memory of other nodes: before the workers start, which node keeps whose; before the
// next attempt, saving the copies of lost nodes.
//
// Saves that agents have not finished when the next attempt begins do not delay it: its workers
// start, and wait only before they load or save. This wait is needed because a session that claims
// the directories ends the commits of earlier sessions (checkpoint/store/fence.h), to which these
// copies belong. Agents bound the wait, so it needs no deadline here.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/job/copy_orders.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

// The attempt does not wait for the answer: until it comes, the previous map counts.
void Job::Impl::ask_backup() {
  if (!can_keep_copies(*this)) return;
  SolveBackup question = backup_question(*this);
  if (question.digest == copies.solved) return;
  copies.asked = question.digest;
  out.push_back(std::move(question));
}

void Job::Impl::backup_solved(const Event& event) {
  const auto& answer = body<BackupSolved>(event);
  if (!can_keep_copies(*this) || backup_question(*this).digest != answer.digest) return;
  const bool is_news = copies.take(answer, group.size());
  if (is_news && workers_may_run() && state != JobState::kStopping) place_copies();
  say_keepers();
}

// Reported once workers make copies: most jobs of several nodes make none.
void Job::Impl::say_keepers() {
  if (copies.is_said || copies.attempt != attempt || !copies.has_copies()) return;
  copies.is_said = true;
  decide(Rule::kCopiesPlaced, "copies in memory are kept by " + copies.text,
         keepers_in_words(*this));
}

void Job::Impl::begin_copies() {
  copies.begin_attempt(attempt, copy_holders(*this), plan.world_size());
  if (!can_keep_copies(*this)) {
    copies.keepers.clear();
    copies.solved = 0;
  }
  place_copies();
}

// Agents that were sent a map are also told when it no longer holds.
void Job::Impl::place_copies() {
  if (!copies.is_placed && copies.keepers.empty() && !copies.has_copies()) return;
  std::vector<PlaceCopies> orders = copy_orders(*this);
  const bool is_any = std::ranges::any_of(
      orders, [](const PlaceCopies& order) { return !order.send.empty() || !order.fetch.empty(); });
  if (!is_any && !copies.is_placed) return;
  copies.is_placed = true;
  for (PlaceCopies& order : orders) {
    if (!at(order.node).bulk.empty()) out.push_back(std::move(order));
  }
}

void Job::Impl::copies_kept(const Event& event) {
  const auto place = std::ranges::find(group, event.node);
  if (place == group.end() || copies.attempt != attempt) return;
  const auto index = static_cast<std::uint32_t>(place - group.begin());
  copies.take(body<CopiesKept>(event), index, plan.first_rank[index], plan.places[index].slots);
  say_keepers();
}

// Saves the copies of nodes that are gone, or that take no part any more and may not have saved
// them all. Called only when no worker runs: then it is known which nodes are gone.
void Job::Impl::save_held_copies() {
  copies.is_cut_off = false;
  std::vector<base::Rank> gone;
  std::vector<SaveOrder> fresh;
  for (const base::Rank rank : orphaned_ranks(*this)) {
    RankCopies& of_rank = copies.ranks[rank.value];
    const bool is_lost = !is_there(*this, of_rank.owner);
    of_rank.is_ordered = true;
    if (!of_rank.at_peer || !is_there(*this, of_rank.keeper)) {
      if (is_lost) gone.push_back(rank);
      continue;
    }
    auto save = std::ranges::find(fresh, of_rank.keeper, &SaveOrder::keeper);
    if (save == fresh.end()) {
      save =
          fresh.insert(fresh.end(), {++copies.orders, of_rank.keeper, {}, {}, false, 0, {}, false});
    }
    save->ranks.push_back(rank);
    auto& owners = save->owners;
    if (std::ranges::find(owners, of_rank.owner.node) == owners.end()) {
      owners.push_back(of_rank.owner.node);
    }
  }
  if (!gone.empty()) {
    decide(
        Rule::kCopiesLost,
        fmt::format("the copies in memory of {} are lost with {}: {}", owners_in_words(*this, gone),
                    loss_of_copies_in_words(*this, gone), fallback_in_words(*this)));
  }
  for (SaveOrder& save : fresh) {
    out.push_back(SaveHeldCopies{save.keeper.node, copies.attempt, save.order, save.ranks});
    copies.saves.push_back(std::move(save));
  }
}

void Job::Impl::order_saves_again() {
  for (const SaveOrder& save : copies.saves) {
    if (save.is_over) continue;
    out.push_back(SaveHeldCopies{save.keeper.node, copies.attempt, save.order, save.ranks});
  }
}

// In kBackoff: no worker runs.
void Job::Impl::held_copies_saved(const Event& event) {
  const auto& answer = body<HeldCopiesSaved>(event);
  if (!copies.take(answer, event.node)) return;
  if (answer.saving) {
    copies.goes_on({event.node, event.generation}, answer.made_in, answer.order);
  }
  say_saved();
  go_on_if_ready();
}

void Job::Impl::say_saved() {
  if (copies.saves.empty() || copies.is_saving()) return;
  out.push_back(saved_in_words(*this));
  copies.saves.clear();
}

// A node was lost in kBackoff: it may owe an answer, or have copies elsewhere.
void Job::Impl::copies_after_loss(base::NodeId node, bool waited) {
  for (const SaveOrder& save : std::vector(copies.saves)) {
    if (save.keeper.node == node) copies.give_up(save.keeper, "its node was lost, too");
  }
  save_held_copies();
  say_saved();
  if (awaits_answers() && !waited) arm_backoff();
  if (waited) go_on_if_ready();
}

void Job::Impl::end_saving() {
  if (!copies.is_saving()) return;
  for (const SaveOrder& save : std::vector(copies.saves)) {
    copies.give_up(save.keeper, "no answer in time");
  }
  say_saved();
}

// A node that takes no part any more saves its own copies first; then its keeper saves the rest.
bool JobQuestions::awaits_answers() const {
  return resume.is_demoting() || copies.is_saving() ||
         std::ranges::any_of(copies.going_on, [this](const GoingSave& save) {
           return save.order == 0 && !at(save.holder.node).may_work();
         });
}

void Job::Impl::saving_over(const Event& event) {
  const bool waited = state == JobState::kBackoff && awaits_answers();
  if (!copies.take(body<SavingOver>(event), event.node)) return;
  if (waited) {
    save_held_copies();
    go_on_if_ready();
  }
  tell_saved();
}

// Repeats the start order; agents know that they have carried it out.
void Job::Impl::tell_saved() {
  if (state != JobState::kStarting && state != JobState::kRunning) return;
  if (!copies.is_awaited || !copies.going_on.empty()) return;
  copies.is_awaited = false;
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    if (!at(group[i]).gone) out.emplace_back(start_order_of(i));
  }
}

}  // namespace robustrun::supervisor
