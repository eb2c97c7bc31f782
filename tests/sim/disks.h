#pragma once
// The job's checkpoints on disks. All choices are made by the real functions
// (checkpoint/store/attempt_choice.h, retention_choice.h, fence.h); this only tracks what is where,
// as checkpoint/store/store.cpp, catalog.cpp and retention.cpp do.
//
// There are two directories with all bytes in each. One of them may be away for a while, lose
// everything, or return to an earlier state; the other one stays, since otherwise losses could not
// be detected.

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "checkpoint/store/fence.h"
#include "checkpoint/store/retention_choice.h"
#include "tests/sim/mutations.h"
#include "tests/sim/saved.h"

namespace robustrun::sim {

inline ckpt::Session session_of(base::Attempt attempt, std::uint32_t ordered_by) {
  return {"sim", attempt.value, ordered_by};
}

class Disks {
 public:
  // Workers of one attempt of the run, once they have claimed.
  struct Writer {
    ckpt::Session session;
    std::uint64_t generation = 0, number = 0;  // as Saved::session
  };
  // Trouble of a directory. kEmptied: as if its disk is not mounted. kAged: as if restored from a
  // backup.
  enum class Trouble : std::uint8_t { kAway, kEmptied, kAged };

  explicit Disks(Mutation mutation) : mutation_(mutation) {
    const Writer before = *claim({"before", 0});
    for (std::uint64_t step = 1; step <= 24; ++step) {
      const ckpt::AttemptId id = *begin(before, step, "s");
      complete(id);
      commit(id, before, step, true);
    }
  }

  // nullopt: the home is away, or a later attempt of the run has claimed.
  std::optional<Writer> claim(const ckpt::Session& session);
  // The three steps of a save. None begins while the home is away.
  std::optional<ckpt::AttemptId> begin(const Writer& writer, std::uint64_t step, const char* token);
  void complete(const ckpt::AttemptId& id) {
    const auto saved = all_.find(id);
    if (saved != all_.end()) saved->second.folders[0].has_parts = saved->second.folders[0].is_there;
  }
  bool commit(const ckpt::AttemptId& id, const Writer& writer, std::uint64_t wall_time_ns,
              bool is_copied);

  // Acts in all present directories; without `everywhere`, not in the one that has trouble. Returns
  // false if none of them has the checkpoint.
  bool mark(const ckpt::AttemptId& id, bool everywhere = true);
  void spoil_data(const ckpt::AttemptId& id) { all_[id].is_whole = false; }
  void spoil_manifest(const ckpt::AttemptId& id) {
    Folder& folder = all_[id].folders[victim_];
    if (folder.manifest == ckpt::ManifestCopy::kSound) {
      folder.manifest = ckpt::ManifestCopy::kDamaged;
    }
  }
  [[nodiscard]] bool is_whole(const ckpt::AttemptId& id) const { return all_.at(id).is_whole; }

  // The checkpoint that workers start from.
  [[nodiscard]] std::optional<ckpt::AttemptId> newest(bool looks_at_marks = true) const;
  // The checkpoint that they should start from: the last visible and never marked save of the last
  // session that saved anything.
  [[nodiscard]] std::optional<ckpt::AttemptId> truly_newest(bool must_be_whole) const;

  // `dies`: after one directory's part of the first removal. Removes nothing during passing
  // trouble.
  void prune(std::size_t keep, bool dies);

  void choose_target(std::size_t directory) { victim_ = directory; }
  void begin_trouble(Trouble trouble, bool ends);
  void end_trouble();
  [[nodiscard]] bool has_home() const { return is_there_[0]; }
  [[nodiscard]] std::size_t victim() const { return victim_; }
  [[nodiscard]] bool has_lost_fences() const { return has_lost_fences_; }

 private:
  struct Snapshot {
    std::map<ckpt::AttemptId, Folder> folders;
    ckpt::Fence fence;
  };
  [[nodiscard]] bool sees(const Saved& saved, std::size_t directory) const {
    return is_there_[directory] && saved.folders[directory].is_there;
  }
  [[nodiscard]] ckpt::AttemptFacts facts_of(const SavedById::value_type& one) const;
  [[nodiscard]] std::vector<ckpt::AttemptFacts> all_facts() const;  // in the order of their ids
  [[nodiscard]] bool is_newer(const ckpt::AttemptFacts& one, const ckpt::AttemptFacts& other) const;
  void publish(Saved& saved, std::uint64_t wall_time_ns, bool is_copied);
  void salvage(const std::vector<ckpt::AttemptFacts>& facts);
  void remove(const ckpt::AttemptId& id, bool dies);
  static ckpt::AttemptId id_of(const ckpt::AttemptFacts& facts) {
    return {facts.step, facts.generation, std::string(facts.token)};
  }

  Mutation mutation_;
  SavedById all_;
  std::array<bool, kDirectories> is_there_ = {true, true};
  ckpt::Fence fence_;  // in the home
  std::size_t victim_ = 1;
  std::optional<Snapshot> snapshot_;  // of the directory with the trouble
  bool has_lost_fences_ = false;
  std::uint64_t sessions_ = 0, saves_ = 0;
};

inline ckpt::AttemptFacts Disks::facts_of(const SavedById::value_type& one) const {
  const auto& [id, saved] = one;
  ckpt::ManifestCopies copies;
  ckpt::AttemptMarks marks;
  bool is_first = true;
  for (std::size_t i = 0; i < kDirectories; ++i) {
    if (!sees(saved, i)) continue;
    const Folder& folder = saved.folders[i];
    copies.add(folder.manifest, folder.is_deleted);
    if (mutation_ == Mutation::kLooksForMarksOnce && !std::exchange(is_first, false)) continue;
    marks.add_marks({folder.is_verified, false, folder.is_poisoned ? "fails" : ""});
  }
  const ckpt::AttemptState state = copies.state();
  const bool is_read = state == ckpt::AttemptState::kCommitted;
  return {
      state,          id.step,      id.generation,          id.token, is_read ? saved.sequence : 0,
      marks.verified, marks.pinned, !marks.poisoned.empty()};
}

inline std::vector<ckpt::AttemptFacts> Disks::all_facts() const {
  std::vector<ckpt::AttemptFacts> facts;
  facts.reserve(all_.size());
  for (const auto& one : all_) {
    if (sees(one.second, 0) || sees(one.second, 1)) facts.push_back(facts_of(one));
  }
  return facts;
}

inline bool Disks::is_newer(const ckpt::AttemptFacts& one, const ckpt::AttemptFacts& other) const {
  if (mutation_ == Mutation::kOrdersByStep) return one.step > other.step;
  if (mutation_ == Mutation::kOrdersByClock) {
    const auto clock = [this](const auto& facts) { return all_.at(id_of(facts)).wall_time_ns; };
    return clock(one) > clock(other);
  }
  return ckpt::is_newer(one, other);
}

inline std::optional<ckpt::AttemptId> Disks::newest(bool looks_at_marks) const {
  std::optional<ckpt::AttemptFacts> best;
  for (const auto& one : all_) {
    ckpt::AttemptFacts facts = facts_of(one);
    facts.poisoned = facts.poisoned && looks_at_marks;
    if (ckpt::may_start_from(facts) && (!best || is_newer(facts, *best))) best = facts;
  }
  return best ? std::optional(id_of(*best)) : std::nullopt;
}

inline std::optional<ckpt::AttemptId> Disks::truly_newest(bool must_be_whole) const {
  const SavedById::value_type* best = nullptr;
  const auto when = [](const Saved& saved) { return std::pair(saved.session, saved.save); };
  for (const auto& one : all_) {
    const Saved& saved = one.second;
    bool is_to_be_seen = false;
    for (std::size_t i = 0; i < kDirectories; ++i) {
      is_to_be_seen = is_to_be_seen ||
                      (sees(saved, i) && saved.folders[i].manifest == ckpt::ManifestCopy::kSound);
    }
    if (!is_to_be_seen || saved.was_marked || (must_be_whole && !saved.is_whole)) continue;
    if (best == nullptr || when(saved) > when(best->second)) best = &one;
  }
  return best != nullptr ? std::optional(best->first) : std::nullopt;
}

inline std::optional<Disks::Writer> Disks::claim(const ckpt::Session& session) {
  if (!is_there_[0]) return std::nullopt;
  const ckpt::Claim found = ckpt::claim_of(fence_, session);
  if (found == ckpt::Claim::kTooLate) return std::nullopt;
  if (found == ckpt::Claim::kHeld) return Writer{session, fence_.generation, sessions_};
  const std::vector<ckpt::AttemptFacts> facts = all_facts();
  const bool trusts_fence = mutation_ == Mutation::kTrustsTheFence;
  const std::uint64_t generation = ckpt::next_generation(
      fence_.generation, trusts_fence ? std::vector<ckpt::AttemptFacts>() : facts);
  salvage(facts);
  fence_ = {generation, session};
  return Writer{session, generation, ++sessions_};
}

// Commits complete saves without a commit, unless they cannot be read back.
inline void Disks::salvage(const std::vector<ckpt::AttemptFacts>& facts) {
  const bool salvages_all = mutation_ == Mutation::kSalvagesTheOld;
  for (const ckpt::AttemptFacts& one : facts) {
    if (one.state != ckpt::AttemptState::kIncomplete) continue;
    Saved& saved = all_[id_of(one)];
    if (!saved.folders[0].has_parts || !saved.is_whole) continue;
    const bool may =
        ckpt::may_salvage(one, salvages_all ? std::vector<ckpt::AttemptFacts>() : facts);
    if (may) publish(saved, saved.wall_time_ns, true);
  }
}

inline std::optional<ckpt::AttemptId> Disks::begin(const Writer& writer, std::uint64_t step,
                                                   const char* token) {
  const bool may = is_there_[0] && ckpt::admits(fence_, writer.generation);
  if (!may && (mutation_ != Mutation::kIgnoresTheFence || !is_there_[0])) return std::nullopt;
  const ckpt::AttemptId id{step, writer.generation, fmt::format("{}{}", token, writer.number)};
  Saved& saved = all_[id];
  saved.session = writer.number;
  saved.save = ++saves_;
  for (std::size_t i = 0; i < kDirectories; ++i) saved.folders[i].is_there = is_there_[i];
  return id;
}

inline bool Disks::commit(const ckpt::AttemptId& id, const Writer& writer,
                          std::uint64_t wall_time_ns, bool is_copied) {
  const auto found = all_.find(id);
  if (!is_there_[0] || found == all_.end() || !found->second.folders[0].has_parts) return false;
  const bool may = ckpt::admits(fence_, writer.generation);
  if (!may && mutation_ != Mutation::kIgnoresTheFence) return false;
  if (facts_of(*found).state != ckpt::AttemptState::kIncomplete) return false;
  publish(found->second, wall_time_ns, is_copied);
  return true;
}

inline void Disks::publish(Saved& saved, std::uint64_t wall_time_ns, bool is_copied) {
  saved.sequence = ckpt::next_sequence(all_facts());
  saved.wall_time_ns = wall_time_ns;
  for (std::size_t i = 0; i < kDirectories; ++i) {
    const bool is_written = sees(saved, i) && (i == 0 || is_copied);
    if (is_written) saved.folders[i].manifest = ckpt::ManifestCopy::kSound;
  }
}

inline bool Disks::mark(const ckpt::AttemptId& id, bool everywhere) {
  const auto found = all_.find(id);
  bool any = false;
  for (std::size_t i = 0; i < kDirectories && found != all_.end(); ++i) {
    if (!sees(found->second, i) || (i == victim_ && !everywhere)) continue;
    found->second.folders[i].is_poisoned = any = true;
  }
  if (any) found->second.was_marked = true;
  return any;
}

inline void Disks::prune(std::size_t keep, bool dies) {
  if (!is_there_[0] || !is_there_[1] || snapshot_) return;
  std::vector<ckpt::AttemptFacts> facts = all_facts();
  std::ranges::sort(facts, [this](const auto& a, const auto& b) { return is_newer(a, b); });
  std::size_t whole = 0;
  for (ckpt::AttemptFacts& one : facts) {
    if (whole == keep) break;
    if (!ckpt::may_start_from(one)) continue;
    Saved& saved = all_[id_of(one)];
    if (!one.verified && !saved.is_whole) break;
    for (Folder& folder : saved.folders) folder.is_verified = folder.is_there;
    one.verified = true;
    ++whole;
  }
  ckpt::RetentionChoice choice(keep, fence_.generation);
  for (const ckpt::AttemptFacts& one : facts) {
    const bool is_whole = one.verified || mutation_ == Mutation::kPrunesUnverified;
    if (!choice.may_go(one, is_whole)) continue;
    remove(id_of(one), dies);
    if (dies) return;
  }
}

inline void Disks::remove(const ckpt::AttemptId& id, bool dies) {
  Saved& saved = all_[id];
  for (Folder& folder : saved.folders) {
    folder.is_deleted = folder.is_there;
    folder.manifest = ckpt::ManifestCopy::kNone;
    if (dies) return;
  }
  all_.erase(id);
}

inline void Disks::begin_trouble(Trouble trouble, bool ends) {
  if (ends) {
    snapshot_.emplace().fence = fence_;
    for (const auto& [id, saved] : all_) snapshot_->folders[id] = saved.folders[victim_];
  }
  if (trouble == Trouble::kAway) is_there_[victim_] = false;
  if (trouble != Trouble::kAway && victim_ == 0) has_lost_fences_ = true;
  if (trouble != Trouble::kEmptied) return;
  for (auto& [id, saved] : all_) saved.folders[victim_] = {};
  if (victim_ == 0) fence_ = {};
}

inline void Disks::end_trouble() {
  is_there_[victim_] = true;
  if (!snapshot_) return;
  for (auto& [id, saved] : all_) {
    const auto found = snapshot_->folders.find(id);
    saved.folders[victim_] = found == snapshot_->folders.end() ? Folder{} : found->second;
  }
  if (victim_ == 0) fence_ = snapshot_->fence;
  snapshot_.reset();
}

}  // namespace robustrun::sim
