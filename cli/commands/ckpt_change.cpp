#include "cli/commands/ckpt_change.h"

#include <algorithm>

#include "base/core/text.h"
#include "checkpoint/store/repair.h"
#include "checkpoint/store/retention.h"
#include "cli/commands/commands.h"
#include "cli/options/limits.h"
#include "cli/text/ckpt_text.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {

using checkpoint::AttemptState;
using checkpoint::FoundAttempt;

int prune_checkpoints(const CkptLine& line, std::span<const FoundAttempt> all) {
  const auto directories = checkpoint::home_first(line.directories);
  const auto pruned = checkpoint::prune(checkpoint::posix_disk(), directories, *line.keep, {},
                                        checkpoint::kPatience, kCkptLockMax);
  if (!pruned) {
    say("cannot prune " + base::printable(line.directories.front()) + ": " + pruned.error().what);
    return supervisor::kExitFailure;
  }
  PrunedCheckpoints result;
  for (const FoundAttempt& found : all) {
    const bool removed = std::ranges::find(pruned->removed, found.attempt) != pruned->removed.end();
    (removed ? result.removed : result.left).push_back(&found);
  }
  result.notes = pruned->notes;
  print(line.json ? pruned_json(result) : pruned_text(result));
  return pruned->notes.empty() ? supervisor::kExitSuccess : supervisor::kExitFailure;
}

int repair_checkpoints(const CkptLine& line, std::span<const FoundAttempt* const> some) {
  std::vector<RepairedCheckpoint> results;
  bool whole = true;
  for (const FoundAttempt* found : some) {
    RepairedCheckpoint& result = results.emplace_back();
    result.found = found;
    if (found->state != AttemptState::kCommitted) {
      result.lost.emplace_back("no copy of its manifest can be read");
    } else if (auto repaired =
                   checkpoint::repair(checkpoint::posix_disk(), *found, line.directories);
               repaired) {
      result.done = std::move(repaired->done);
      result.lost = std::move(repaired->lost);
    } else {
      result.lost.push_back(repaired.error().what);
    }
    whole = whole && result.lost.empty();
  }
  print(line.json ? repaired_json(results) : repaired_text(results));
  return whole ? supervisor::kExitSuccess : supervisor::kExitFailure;
}

int pin_checkpoint(const CkptLine& line, std::span<const FoundAttempt> all) {
  const bool pins = line.verb == "pin";
  const auto wanted = [&line](const FoundAttempt& found) {
    return found.state == AttemptState::kCommitted && found.attempt.step == *line.step;
  };
  const auto found = std::ranges::find_if(all, wanted);
  if (found == all.end()) {
    say("there is no committed checkpoint of step " + std::to_string(*line.step) + " in " +
        base::printable(line.directories.front()));
    return supervisor::kExitFailure;
  }
  // Of several with one step the newest is pinned, and none stays so.
  for (auto each = found; each != all.end(); ++each) {
    if (each != found && (pins || !wanted(*each))) continue;
    const auto done = checkpoint::set_pinned(checkpoint::posix_disk(), *each, pins);
    if (!done) {
      say(done.error().what);
      return supervisor::kExitFailure;
    }
  }
  FoundAttempt now = *found;
  now.pinned = pins;
  print(line.json ? checkpoints_json({&now, 1}) : pinned_text(now));
  return supervisor::kExitSuccess;
}

}  // namespace robustrun::cli
