#pragma once
// Moves half-written checkpoints of trainers aside before an attempt, so that no trainer resumes
// from them (--checkpoints, docs/checkpoints.md). Nothing is ever deleted.
//
// A checkpoint is moved when its format's marks tell that it is half-written (completeness.h), and
// - the previous attempt changed it: it was different when this node began that attempt; or
// - no attempt was seen writing it, but it is newer than every whole checkpoint beside it and has
//   not changed for a while: a run before this one, or another node's worker, left it.
// It goes to .robustrun-incomplete in its folder, which a glob's * does not match, under another
// name, which no trainer's search matches. Several nodes may see the same folder: rename() is
// atomic, and the nodes that come second find nothing. Links are never followed, except where a
// glob spells out a folder's name. Files of other users stay, unless this is root.
//
// Used on one thread of a pool at a time; blocks as long as the file system does.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/trainer_saves/completeness.h"
#include "base/core/clock.h"
#include "base/core/ids.h"
#include "base/core/result.h"
#include "wire/messages/facts.h"

namespace robustrun::agent {

class HalfWritten {
 public:
  struct Attempt {
    base::Attempt number;  // about to begin; no worker of the run lives
    std::vector<std::string> globs{};
    std::string directory{};  // where relative globs begin
    // Otherwise nothing is moved, and a line only suggests --checkpoints.
    bool is_asked_for = true;
    // Whether this node reports what is not moved; one node of the run does.
    bool reports = true;
    base::Nanos now{};  // wall clock
    std::optional<base::Nanos> ended{};  // when the previous attempt's last worker here was gone
  };

  struct Outcome {
    std::vector<wire::CheckpointMoved> moved{};  // at most kMovedToldMax; `lines` has them all
    // For the user: what was moved, why, and where to; and, once each, what was not.
    std::vector<std::string> lines{};
  };
  [[nodiscard]] Outcome before_attempt(const Attempt& attempt);

 private:
  struct Found;
  void judge_siblings(std::vector<Found>& found) const;
  void decide(const Attempt& attempt, const Found& found, Outcome& outcome);
  void move(const Attempt& attempt, const Found& found, const std::string& how, Outcome& outcome);
  void say_once(const Attempt& attempt, const std::string& line, Outcome& outcome);

  // What was there before the previous attempt, by path; none: this node has begun no attempt.
  std::optional<std::map<std::string, EntryStamp>> before_;
  std::set<std::string> reported_;
};

// Whether it can be used as a glob of --checkpoints. Pure.
[[nodiscard]] base::Status check_checkpoint_glob(const std::string& glob);

// Where HF Trainer saves, by --output_dir in a script's arguments: "DIR/checkpoint-*". Empty: they
// have no such option. Pure.
[[nodiscard]] std::vector<std::string> usual_checkpoint_globs(
    const std::vector<std::string>& arguments);

}  // namespace robustrun::agent
