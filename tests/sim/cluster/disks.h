#pragma once
// Workers that save and load, and what becomes of their disks. In every other run only: in the
// others the core hears of saves alone. In every fourth one former supervisors' workers save, too.

#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

// Wrong by years, perhaps.
inline std::uint64_t Cluster::wall_clock(std::uint32_t place) {
  const auto node = static_cast<std::uint32_t>(place % nodes_.size());
  const Nanos shown = seconds(1'700'000'000) + world_.clock({node});
  return static_cast<std::uint64_t>(std::max(shown, Nanos{}).count());
}

inline void Cluster::plan_disk_troubles() {
  auto dice = fates_.draw({}, Mishap::kDisks, 0, has_disks() ? 0.6 : 0);
  if (!dice) return;
  using enum Disks::Trouble;
  const auto what = dice->one_of({kAway, kEmptied, kAged});
  disks_.choose_target(dice->below(kDirectories));
  const Nanos begins = dice->between({}, minutes(40));
  const bool ends = what != kEmptied || dice->chance(0.5);
  queue_.at(begins, [this, what, ends] { disks_.begin_trouble(what, ends); });
  if (!ends) return;
  queue_.at(begins + dice->between({}, hours(1)), [this] { disks_.end_trouble(); });
}

// Workers wait while copies of those before are being saved: as long as their agents wait at most.
inline void Cluster::begin_to_load(const core::StartWorkers& start) {
  session_ = session_of(start.attempt, start.ordered_by);
  waits_to_load_ = start;
  end_wait_to_load(start);
  queue_.after(seconds(50), [this, over = start]() mutable {
    over.saving = false;
    end_wait_to_load(over);
  });
}

// The order was said, perhaps again.
inline void Cluster::end_wait_to_load(const core::StartWorkers& order_of) {
  if (order_of.saving || !waits_to_load_ || waits_to_load_->attempt != order_of.attempt) return;
  const core::StartWorkers start = *std::exchange(waits_to_load_, std::nullopt);
  const bool runs =
      job_.state() == core::JobState::kStarting || job_.state() == core::JobState::kRunning;
  if (runs && job_.attempt() == start.attempt) load_checkpoint(start);
}

// The workers of a new attempt claim the home, so that nobody of before commits any more, and read
// the newest that there is. The node that says so is anybody.
inline void Cluster::load_checkpoint(const core::StartWorkers& start) {
  for (const VirtualNode& node : nodes_) {
    const bool counts = invariants_.groups().is_admitted(node.id());
    invariants_.nobody_loads_before_copies_are_saved(!counts || !node.saves_for(start.attempt),
                                                     node.id());
  }
  if (!has_disks()) return;
  begin_session();
  auto newest = disks_.newest();
  invariants_.the_newest_is_found(newest == disks_.truly_newest(false));
  while (newest && !disks_.is_whole(*newest)) {  // whoever cannot read it says so
    disks_.mark(*newest);
    newest = disks_.newest();
  }
  if (mutation_ == Mutation::kLoadsTheMarked) newest = disks_.newest(false);
  saved_ = newest ? newest->step : 0;
  if (!newest) return;
  core::CheckpointNoted noted{start.attempt, core::CheckpointNoted::What::kLoaded, {}, {}, "disk"};
  noted.id = {newest->step, newest->generation, newest->token};
  noted.directories = {"/data"};
  queue_.after(milliseconds(40), [this, noted, n = start.node] { tell_checkpoint(n, noted); });
}

// Whoever is not behind another session that has claimed gets in, whatever supervisors that were
// followed by others have started meanwhile; nobody else does. Where the home has lost its fence
// nobody knows.
inline std::optional<Disks::Writer> Cluster::claim(const ckpt::Session& session) {
  ckpt::Session said = session;
  if (mutation_ == Mutation::kSharesSessions) said.incarnation = 0;
  const std::optional<Disks::Writer> writer = disks_.claim(said);
  const bool may = admitted_ <= std::pair(session.incarnation, session.attempt);
  const bool is_known = disks_.has_home() && !disks_.has_lost_fences();
  invariants_.only_the_admitted_save(!is_known || writer.has_value() == may);
  if (writer && may) admitted_ = {session.incarnation, session.attempt};
  return writer;
}

// One of it commits.
inline void Cluster::check_admission(const ckpt::Session& session) {
  const bool is_admitted = admitted_ == std::pair(session.incarnation, session.attempt);
  invariants_.only_the_admitted_save(is_admitted || disks_.has_lost_fences());
}

// Some of the attempt before are still about to save.
inline void Cluster::begin_session() {
  const std::optional<Disks::Writer> before = std::exchange(writer_, std::nullopt);
  auto dice = fates_.draw(queue_.now(), Mishap::kLateSave, 0, before ? 0.3 : 0);
  std::optional<ckpt::AttemptId> late;
  if (dice) late = disks_.begin(*before, saved_ + 15, "late");
  writer_ = claim(session_);
  if (!late || !writer_) return;
  queue_.after(dice->between({}, minutes(5)), [this, late = *late, before = *before] {
    if (disks_.has_lost_fences()) return;  // nobody knows then
    disks_.complete(late);
    const bool does_claim = disks_.claim(before.session).has_value();
    const bool does_commit = disks_.commit(late, before, wall_clock(0), true);
    invariants_.late_writers_commit_nothing(!does_claim && !does_commit);
  });
}

// Nothing: it is not committed.
inline std::optional<core::CheckpointId> Cluster::save_checkpoint(base::Attempt attempt) {
  saved_ += 30;
  if (!has_disks()) return core::CheckpointId{saved_, attempt.value + 1ULL, "s"};
  if (!writer_) writer_ = claim(session_);
  if (!writer_) return std::nullopt;
  const auto id = disks_.begin(*writer_, saved_, "s");
  if (!id || strikes(Mishap::kSaveCutOff, 0, 0.06)) return std::nullopt;
  disks_.complete(*id);
  if (strikes(Mishap::kCommitFails, 0, 0.06)) return std::nullopt;
  const bool is_copied = disks_.victim() == 0 || !strikes(Mishap::kManifestNotCopied, 0, 0.06);
  if (!disks_.commit(*id, *writer_, wall_clock(attempt.value), is_copied)) return std::nullopt;
  check_admission(session_);
  invariants_.the_newest_is_found(disks_.newest() == disks_.truly_newest(false));
  if (strikes(Mishap::kManifestDamaged, 0, 0.03)) disks_.spoil_manifest(*id);
  if (strikes(Mishap::kDataDamaged, 0, 0.06)) disks_.spoil_data(*id);
  if (++saves_ % 8 == 0) prune_checkpoints();
  return core::CheckpointId{id->step, id->generation, id->token};
}

inline void Cluster::prune_checkpoints() {
  const auto newest = disks_.truly_newest(true);
  const std::size_t keep = std::array<std::size_t, 4>{1, 2, 4, 24}[scenario_.seed / 2 % 4];
  disks_.prune(keep, strikes(Mishap::kPruneCutOff, 0, 0.2));
  invariants_.retention_spares_the_newest(newest == disks_.truly_newest(true));
}

inline void Cluster::tell_checkpoint(base::NodeId node, const core::CheckpointNoted& noted) {
  if (node.value < nodes_.size()) speak(node, nodes_[node.value].generation(), noted);
}

// As an agent does it: soon, or in vain, or too late, or never.
inline void Cluster::demote_checkpoint(const core::DemoteCheckpoint& order) {
  const base::Generation generation = nodes_[order.node.value].generation();
  core::CheckpointDemoted answer{order.order, {}};
  const bool fails = strikes(Mishap::kMarkFails, 0, 0.25);
  const bool is_everywhere = has_disks() && !strikes(Mishap::kMarkPartly, 0, 0.3);
  if (fails) {
    answer.error = "disk full";
  } else if (!disks_.mark({order.id.step, order.id.generation, order.id.token}, is_everywhere)) {
    answer.error = "there is no such checkpoint";
  }
  if (mutation_ == Mutation::kForgetsMarks) {
    queue_.after({}, [this, order, generation] {
      speak(order.node, generation, core::CheckpointDemoted{order.order, {}});
    });
  }
  if (strikes(Mishap::kMarkNever, 0, 0.2)) return;
  const bool is_late = strikes(Mishap::kMarkLate, 0, 0.2);
  queue_.after(is_late ? seconds(25) : seconds(2), [this, order, generation, answer] {
    invariants_.answered_mark(order.order);
    speak(order.node, generation, answer);
  });
}

}  // namespace robustrun::sim
