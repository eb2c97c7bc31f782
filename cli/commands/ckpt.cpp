#include "base/core/text.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/reader.h"
#include "cli/commands/ckpt_change.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/parser.h"
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

// Those with the wanted step, else the newest; with their tables now.
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
    say("cannot inspect it: no copy of its manifest can be read; robustrun ckpt ls says why");
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
    sound = sound && result.faults.empty() && result.away.empty() && found->notes.empty() &&
            found->state == AttemptState::kCommitted;
  }
  print(line.json ? verified_json(results) : verified_text(results));
  return sound ? supervisor::kExitSuccess : supervisor::kExitFailure;
}

}  // namespace

int ckpt_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_ckpt_line(argv);
  if (!line) return complain_of_usage(around, line.error().what);
  if (line->help) {
    print(ckpt_help());
    return supervisor::kExitSuccess;
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
