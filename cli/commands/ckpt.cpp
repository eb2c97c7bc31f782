#include <algorithm>

#include "base/core/text.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/reader.h"
#include "checkpoint/store/repair.h"
#include "checkpoint/store/retention.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/plan/python_module.h"
#include "cli/text/ckpt_text.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

using checkpoint::AttemptState;
using checkpoint::FoundAttempt;

int list_checkpoints(const CkptLine& line, const std::vector<FoundAttempt>& all) {
  print(line.json ? checkpoints_json(all) : checkpoints_text(all));
  return supervisor::kExitSuccess;
}

// torch itself writes torch's formats; python/robustrun/export.py reads checkpoints through
// librobustrun.so.
int export_checkpoint(const CkptLine& line, const Surroundings& around) {
  std::vector<std::string> arguments{"--to", *line.form};
  if (line.step) arguments.push_back("--step=" + std::to_string(*line.step));
  if (line.rank) arguments.push_back("--rank=" + std::to_string(*line.rank));
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), line.directories.begin(), line.directories.end());
  arguments.push_back(line.out);
  const auto code = run_python_module("robustrun.export", arguments, around);
  return code ? *code : complain(code.error());
}

// The checkpoints of --step, all with --all, else the newest; with their tables loaded.
std::vector<const FoundAttempt*> chosen(const CkptLine& line, std::vector<FoundAttempt>& all,
                                        checkpoint::MountThreads& threads) {
  std::vector<const FoundAttempt*> some;
  for (FoundAttempt& found : all) {
    const bool readable = found.state == AttemptState::kCommitted;
    const bool wanted = line.step ? found.attempt.step == *line.step : line.all || some.empty();
    if (!wanted || (!readable && found.state != AttemptState::kDamaged)) continue;
    if (auto looked = checkpoint::look_closer(found, threads); !looked) {
      found.state = AttemptState::kDamaged;
      found.notes.push_back(looked.error().what);
    }
    some.push_back(&found);
  }
  return some;
}

int inspect_checkpoint(const CkptLine& line, const FoundAttempt& found) {
  if (found.state != AttemptState::kCommitted) {
    say("cannot inspect it: no copy of its manifest is readable; robustrun ckpt ls shows why");
    return supervisor::kExitFailure;
  }
  print(line.json ? checkpoint_json(found) : checkpoint_text(found));
  return supervisor::kExitSuccess;
}

int verify_checkpoints(const CkptLine& line, const std::vector<const FoundAttempt*>& some) {
  std::vector<VerifiedCheckpoint> results;
  bool sound = true;
  for (const FoundAttempt* found : some) {
    VerifiedCheckpoint& result = results.emplace_back();
    result.found = found;
    if (found->state == AttemptState::kCommitted) {
      result.faults =
          checkpoint::CheckpointReader::open(found->manifest, found->folders).verify(&result.away);
    }
    if (found->verified && !result.faults.empty()) {
      const auto unmarked = checkpoint::unmark_verified(checkpoint::posix_disk(), *found);
      if (!unmarked) say("it still counts as verified: " + unmarked.error().what);
    }
    sound = sound && result.faults.empty() && result.away.empty() && found->notes.empty() &&
            found->state == AttemptState::kCommitted;
  }
  print(line.json ? verified_json(results) : verified_text(results));
  return sound ? supervisor::kExitSuccess : supervisor::kExitFailure;
}

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
      result.lost.emplace_back("no copy of its manifest is readable");
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
  // Several may have this step: pin sets the newest alone, unpin clears all of them.
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

}  // namespace

int ckpt_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_ckpt_line(argv);
  if (!line) return complain_of_usage(around, "ckpt", line.error().what);
  if (line->help) {
    print(command_help("ckpt", terminal_columns(around)));
    return supervisor::kExitSuccess;
  }
  // Folders of other nodes' disks may be missing here.
  const bool has_folder = std::ranges::any_of(line->directories, [&](const std::string& each) {
    const PathKind kind = around.machine->kind(around.absolute(each));
    return kind == PathKind::kDirectory || kind == PathKind::kEmptyDirectory;
  });
  if (!has_folder) {
    say("cannot look for checkpoints in " + base::printable(line->directories.front()) +
        ": there is no such folder");
    return supervisor::kExitUsage;
  }
  checkpoint::MountThreads threads(line->directories, 1, checkpoint::kPatience);
  auto all = checkpoint::list_attempts(line->directories, &threads, checkpoint::Look::kSums);
  if (!all) {
    say(all.error().what);
    return supervisor::kExitUsage;
  }
  if (line->verb == "ls") return list_checkpoints(*line, *all);
  if (line->verb == "export") return export_checkpoint(*line, around);
  if (line->verb == "prune") return prune_checkpoints(*line, *all);
  if (line->verb == "pin" || line->verb == "unpin") return pin_checkpoint(*line, *all);
  const auto some = chosen(*line, *all, threads);
  if (some.empty()) {
    say("there is no committed checkpoint" +
        (line->step ? " of step " + std::to_string(*line->step) : std::string()) + " in " +
        base::printable(line->directories.front()));
    return supervisor::kExitFailure;
  }
  if (line->verb == "repair") return repair_checkpoints(*line, some);
  return line->verb == "inspect" ? inspect_checkpoint(*line, *some.front())
                                 : verify_checkpoints(*line, some);
}

}  // namespace robustrun::cli
