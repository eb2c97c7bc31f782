#pragma once
// The job's checkpoints on disks. All that is chosen is chosen by the real functions
// (checkpoint/store/attempt_choice.h, retention_choice.h, fence.h); here is only what lies where.
//
// There are two directories with all bytes in each. One of them may be away for a while, lose all,
// or have again what it had before; the other one stays, or nobody could know what was lost.

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
  // What becomes of a directory. kEmptied: as when its disk is not mounted. kAged: as when it is
  // restored from a backup.
  enum class Trouble : std::uint8_t { kAway, kEmptied, kAged };

  explicit Disks(Mutation mutation) : mutation_(mutation) {
    const Writer before = *claim({"before", 0});
    for (std::uint64_t step = 1; step <= 24; ++step) {
      const ckpt::AttemptId id = *begin(before, step, "s");
      complete(id);
      commit(id, before, step, true);
    }
  }

  // Nobody: the home is away, or a later attempt of the run was there.
  std::optional<Writer> claim(const ckpt::Session& session);
  // These three are the steps of a save. Nothing is begun while the home is away.
  std::optional<ckpt::AttemptId> begin(const Writer& writer, std::uint64_t step, const char* token);
  void complete(const ckpt::AttemptId& id) {
    const auto saved = all_.find(id);
    if (saved != all_.end()) saved->second.folders[0].has_parts = saved->second.folders[0].is_there;
  }
  bool commit(const ckpt::AttemptId& id, const Writer& writer, std::uint64_t wall_time_ns,
              bool is_copied);

  // In all directories that are there; not `everywhere`: but for the one that troubles come to.
  // False: none has it.
  bool mark(const ckpt::AttemptId& id, bool everywhere = true);
  void spoil_data(const ckpt::AttemptId& id) { all_[id].is_whole = false; }
  void spoil_manifest(const ckpt::AttemptId& id) {
    Folder& folder = all_[id].folders[victim_];
    if (folder.manifest == ckpt::ManifestCopy::kSound) {
      folder.manifest = ckpt::ManifestCopy::kDamaged;
    }
  }
  [[nodiscard]] bool is_whole(const ckpt::AttemptId& id) const { return all_.at(id).is_whole; }

  // What workers start from, if they look at marks.
  [[nodiscard]] std::optional<ckpt::AttemptId> newest(bool looks_at_marks = true) const;
  // And what they should: of the last session that saved something, the last save that is to be
  // seen and was never marked.
  [[nodiscard]] std::optional<ckpt::AttemptId> truly_newest(bool must_be_whole) const;

  // `dies`: after one directory's part of the first removal. Nothing goes while the disks are in
  // trouble that ends.
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
  std::optional<Snapshot> snapshot_;  // of the victim
  bool has_lost_fences_ = false;
  std::uint64_t sessions_ = 0, saves_ = 0;
};

}  // namespace robustrun::sim

#include "tests/sim/disks_inl.h"
