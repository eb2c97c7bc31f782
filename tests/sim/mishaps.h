#pragma once
// What can go wrong in a run.

#include <fmt/core.h>

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "tests/sim/event_queue.h"

namespace robustrun::sim {

enum class Mishap : std::uint8_t {
  // Of messages; `where`: the channel, 2 · node, and 1 more towards it.
  kLost,
  kLate,
  kTwice,
  // Of agents and machines; `where`: the node.
  kCannotStart,
  kNeverJoins,
  kAgentDies,
  kMachineDies,
  kCutOff,
  kDeaf,
  kNodeEnds,
  kNoPort,
  kFlaps,
  kBreaks,
  kUnfit,
  kUnreached,
  kWarned,
  // Of workers; `where`: the attempt for the first, else the rank.
  kAttemptFails,
  kIgnoresTerm,
  kUnkillable,
  kSlowStart,
  // Of the job as a whole.
  kCheckLost,
  kNeverPlaced,
  kMisplaced,
  kAlarm,
  kSlow,
  kHang,
  kCrash,
  // What users and schedulers do, planned ahead; `where`: which of them.
  kSignal,
  kUpdate,
  kVolunteer,
  // Commands that are typed between a decision and its effects.
  kOperator,
  // Of the network; `where`: the node, for the partition and the rack which of them.
  kConnectionBreaks,
  kSlowWay,
  kWrongClock,
  kPartition,
  kRackDies,
  // Of answers; `where`: the node for the second, the rank for the last.
  kReplayNever,
  kReplayFails,
  kUntested,
  kMarkFails,
  kMarkLate,
  kMarkNever,
  kLookBackNever,
  kLookBackLate,
  kRanksDisagree,
  kKeepersNever,
  kKeepersLate,
  kKeepersWrong,
  kSaveFails,
  kSaveLate,
  kSaveNever,
  kPaceUnanswered,
  kCopySlow,
  // A supervisor that seems dead but is not.
  kLivesOn,
  // Of checkpoints and their directories.
  kDisks,
  kLateSave,
  kMarkPartly,
  kSaveCutOff,
  kCommitFails,
  kManifestNotCopied,
  kManifestDamaged,
  kDataDamaged,
  kPruneCutOff,
  // Of agents' saves while the next attempt begins; `where`: the node.
  kSavesLong,
  // Of agents that are told to end; `where`: the node.
  kDeparts,
};
inline constexpr std::size_t kMishaps = 65;

struct MishapId {
  Mishap what{};
  std::uint32_t where = 0, nth = 0;
  auto operator<=>(const MishapId&) const = default;
};

struct Struck {
  Nanos at{};
  MishapId id;
  bool operator==(const Struck&) const = default;
};

inline constexpr std::array<const char*, kMishaps> kMishapWords = {
    "a message {} is lost",
    "a message {} comes late",
    "a message {} comes twice",
    "the agent of n{} cannot be started",
    "the agent of n{} never says hello",
    "the agent of n{} is to die",
    "machine n{} is to die",
    "n{} is to be cut off",
    "the agent of n{} is deaf to stop orders",
    "n{} will be taken away",
    "n{} has no port",
    "n{} notices what may pass",
    "n{} is broken",
    "n{} fails its check",
    "n{} is not reached by others",
    "n{} is warned of by its check",
    "attempt {} fails",
    "rank {} ignores SIGTERM",
    "rank {} cannot be killed",
    "rank {} starts late",
    "a check never ends",
    "a question for places is not answered",
    "a question for places is answered wrongly",
    "a metric is not a number",
    "a rank is slow",
    "workers hang",
    "the supervisor crashes",
    "signal {} of the plan is sent",
    "update {} of the plan is asked for",
    "volunteer {} of the plan comes",
    "a command is typed",
    "the connection to n{} breaks",
    "the way to n{} is slow",
    "the clocks of n{} are wrong",
    "partition {} of the plan begins",
    "rack {} is to lose its power",
    "a replay never ends",
    "a replay with n{} fails",
    "a group is not replayed",
    "a checkpoint cannot be marked",
    "a checkpoint is marked late",
    "the answer to a mark is lost",
    "a look back has no answer",
    "a look back is answered late",
    "a look back finds that ranks disagree",
    "a question for keepers is not answered",
    "a question for keepers is answered late",
    "a question for keepers is answered wrongly",
    "held copies cannot be saved",
    "held copies are saved late",
    "the answer to a save of held copies is lost",
    "a look at the pace has no answer",
    "rank {} is slow to copy its state",
    "the supervisor lives on beside its successor",
    "a directory of checkpoints is away, emptied or aged",
    "workers of an earlier attempt still save",
    "one directory does not take a mark",
    "a save is never finished",
    "a save is complete but cannot be committed",
    "a manifest is not copied",
    "a manifest is damaged",
    "a checkpoint's data is damaged",
    "retention dies in the middle",
    "n{} saves copies for long",
    "the agent of n{} is told to end",
};

// "a message to n2 is lost (#3)"
inline std::string words_of(const MishapId& id) {
  const std::string where =
      id.what <= Mishap::kTwice
          ? fmt::format("{} n{}", id.where % 2 == 0 ? "of" : "to", id.where / 2)
          : std::to_string(id.where);
  return fmt::format(
      "{} (#{})", fmt::format(fmt::runtime(kMishapWords[static_cast<std::size_t>(id.what)]), where),
      id.nth + 1);
}

}  // namespace robustrun::sim
