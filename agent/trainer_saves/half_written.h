#pragma once
// Moves half-written checkpoints of trainers aside before an attempt, so that no trainer resumes
// from them (--checkpoints, docs/checkpoints.md). Nothing is ever deleted.
//
// A checkpoint counts as half-written by the marks of its format (completeness.h), or if it lacks a
// mark that a whole checkpoint of its kind beside it has. It is moved if
// - the previous attempt changed it: it was different when this node began that attempt; or
// - it is newer than every whole checkpoint beside it and has not changed for a while: an earlier
//   run, or another node's worker, left it.
// It is moved to .robustrun-incomplete in its folder, which a glob's * does not match, under a new
// name, which no trainer looks for. Several nodes may see the same folder: rename(2) is atomic, and
// the later nodes find nothing. Symbolic links are not followed, except for folders that a glob
// names without a wildcard. Files of other users stay, unless this is root.
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
    base::Attempt number;  // the attempt that is about to begin; no worker of the run lives
    std::vector<std::string> globs{};
    std::string directory{};  // where relative globs begin
    // Whether --checkpoints is set. Otherwise nothing is moved, and a line suggests the option.
    bool is_asked_for = true;
    // Whether this node reports checkpoints that stay; one node of the run does.
    bool reports = true;
    base::Nanos now{};  // wall clock
    std::optional<base::Nanos> ended{};  // when the previous attempt's last worker here was gone
  };

  struct Outcome {
    std::vector<wire::CheckpointMoved> moved{};  // at most kMovedToldMax; `lines` has all
    // For the user: what was moved, why, and where to; and, each only once, what stays and why.
    std::vector<std::string> lines{};
  };
  [[nodiscard]] Outcome before_attempt(const Attempt& attempt);

 private:
  struct Found;
  void judge_siblings(std::vector<Found>& found) const;
  void decide(const Attempt& attempt, const Found& found, Outcome& outcome);
  void move(const Attempt& attempt, const Found& found, const std::string& how, Outcome& outcome);
  void say_once(const Attempt& attempt, const std::string& line, Outcome& outcome);

  // Checkpoints when the previous attempt began, by path; none: this node has begun no attempt.
  std::optional<std::map<std::string, EntryStamp>> before_;
  std::set<std::string> reported_;
};

// Whether `glob` can be used for --checkpoints. Pure.
[[nodiscard]] base::Status check_checkpoint_glob(const std::string& glob);

// Where HF Trainer saves, by --output_dir in a script's arguments: "DIR/checkpoint-*". Empty: there
// is no such option. Pure.
[[nodiscard]] std::vector<std::string> usual_checkpoint_globs(
    const std::vector<std::string>& arguments);

}  // namespace robustrun::agent
