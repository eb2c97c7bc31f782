#pragma once
// The bounds of the supervisor's folders, except core (core/types/limits.h), console and outlets,
// which have a limits.h of their own.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::supervisor {

// Files of a run directory besides the journal.
inline constexpr std::size_t kPrivateFileBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kBootIdBytesMax = 64;
inline constexpr std::size_t kLockBytesMax = 512;
// Tries to lock a run, and the pause after each try.
inline constexpr int kLockTriesMax = 100;
inline constexpr int kLockPollMs = 20;

// Interval at which a summary of progress is journaled.
inline constexpr std::chrono::minutes kSummaryInterval{1};
// run_record.h: entries that could not be written to the journal and are kept for the final report;
// interval in which trouble with the journal is logged at most once.
inline constexpr std::size_t kLostEntriesMax = 1000;
inline constexpr std::chrono::minutes kJournalTroubleInterval{1};
// checkpoint_watch.h: interval in which at most one event of a kind is journaled; different loads
// that are noted in one attempt.
inline constexpr std::chrono::seconds kCheckpointEventInterval{10};
inline constexpr std::size_t kLoadsMax = 16;
// copy_rounds.h. From the beginning of a round to that of the next, unless the round was missed.
inline constexpr std::chrono::seconds kCopyRoundMin{1};
// From the beginning of a round until all ranks must hold a copy.
inline constexpr std::chrono::seconds kCopyRoundHoldMax{60};
// How long a round may last at first. After rounds that took longer the limit rises, at most to
// kCopyRoundMostMax.
inline constexpr std::chrono::minutes kCopyRoundMax{10};
inline constexpr std::chrono::hours kCopyRoundMostMax{24};
// A round is about a step that the ranks reach this long after the order, at their pace.
inline constexpr std::chrono::milliseconds kCopyRoundLeadMin{100};
inline constexpr std::chrono::milliseconds kCopyRoundLeadMax{10'000};
inline constexpr std::chrono::milliseconds kCopyPaceInterval{500};  // between measurements of pace
inline constexpr std::uint64_t kCopyRoundAheadMax = 1'000'000;  // the same lead in steps
// driver/block_sharing.h. From the first node's hello to the first list of block peers if other
// nodes are late. Less than the time for which image servers wait for the list
// (agent/image/limits.h).
inline constexpr std::chrono::seconds kBlockPeersFirst{3};
// From a node's hello to the next list, so that nodes that join together share one list.
inline constexpr std::chrono::milliseconds kBlockPeersDelay{300};
// A signal to all processes of a run reaches its supervisor at most this long after the others.
inline constexpr std::chrono::seconds kRelayedSignalMax{5};
// A batch system signals both us and the batch script, which passes the signal on: the second of
// the two signals reaches us at most this long after the first.
inline constexpr std::chrono::seconds kPassedOnSignalMax{5};
// From the core's Finish until agents that have not ended are killed. Longer than an agent takes to
// save copies of the last attempt (agent/copies/limits.h).
inline constexpr std::chrono::seconds kShutdownMax{10};
// How long the killed agents are waited for; the last output is shown afterwards.
inline constexpr std::chrono::seconds kKillMax{2};
// Checks of leases per heartbeat, so that a lease ends only a fraction of an interval late.
inline constexpr unsigned kLeaseChecksPerBeat = 4;
// A silent node is not lost while its peers do steps, but only this long: in jobs whose ranks do
// not depend on each other, the peers would never notice its end.
inline constexpr std::chrono::seconds kSilenceWithProgressMax{60};
// The launcher's pool of threads: for its files, name look-ups, ssh -G, and all other work that
// would keep the loop waiting.
inline constexpr unsigned kLauncherThreads = 4;
inline constexpr std::size_t kLauncherQueueMax = 16384;
inline constexpr std::uint32_t kPlacementLane = 0x5348'1001;  // a lane of that pool
inline constexpr std::uint32_t kLookUpLane = 0x5348'1007;  // a lane of that pool
// driver/slurm_side.h, driver/job_end.h, driver/replacements.h: the time between two questions is
// longer than the interval by a random part of the interval, at most 1 / kSlurmPollJitter.
inline constexpr int kSlurmPollJitter = 4;
// driver/job_end.h: the margin of the last save before the end of the scheduler's job.
inline constexpr std::chrono::seconds kJobEndMarginMin{45};
inline constexpr std::chrono::minutes kJobEndMarginMax{5};
inline constexpr std::chrono::seconds kJobEndReserve{5};  // for what follows the save (a requeue)
inline constexpr std::chrono::seconds kJobEndGraceMin{5};  // least time that workers get to save
// How long a save that is due waits for the scheduler's answer whether the end has been moved.
inline constexpr std::chrono::seconds kJobEndPatience{6};
inline constexpr std::chrono::minutes kJobEndAnnounced{10};  // the save is announced so long before
inline constexpr std::chrono::seconds kJobEndMoved{30};  // a smaller change of the end is not told
inline constexpr std::chrono::hours kJobEndMax{24 * 366 * 10};  // a later end is a wrong answer
// driver/replacements.h: how long nodes are missing before a job is queued.
inline constexpr std::chrono::seconds kReplacePatience{10};
inline constexpr std::chrono::seconds kReplaceLook{5};  // the longest time between two checks
// From a job's start until its agent must have joined. Also how long its node may be without work.
inline constexpr std::chrono::seconds kReplaceJoinMax{120};
// The wait after a refusal doubles from the first to the maximum.
inline constexpr std::chrono::minutes kReplaceAgainFirst{1};
inline constexpr std::chrono::minutes kReplaceAgainMax{30};
// Addresses of ours that an agent gets.
inline constexpr std::size_t kEndpointsMax = 8;
// Lines of the table of nodes on the console; the journal has all nodes.
inline constexpr std::size_t kTableLinesMax = 16;

// control/server.h: bytes of a message, and connections at a time.
inline constexpr std::size_t kControlMessageBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kControlConnectionsMax = 64;
// A socket without a listener that is older than this is of a dead supervisor, and is removed.
inline constexpr std::chrono::minutes kControlSocketYoung{1};
inline constexpr std::chrono::seconds kControlMessageTime{5};  // how long a message may take
// Bytes of a request's value that a refusal repeats.
inline constexpr std::size_t kShownWordBytes = 24;
inline constexpr std::size_t kInjectionsMax = 64;  // faults that wait for a node's answer at a time
inline constexpr std::size_t kNodeNameBytesMax = 255;
inline constexpr std::chrono::hours kFaultTimeMax{24 * 366 * 10};  // a fault's delay or duration
// How long an injection waits for the node's answer, and a command for the supervisor's answer.
inline constexpr std::chrono::seconds kInjectionAnswerMax{20};
inline constexpr std::chrono::seconds kControlAnswerMax{30};
// A status is not older than this, even if the request accepts an older one.
inline constexpr std::chrono::seconds kStatusAgeMax{1};
// The oldest status in an answer to "changes".
inline constexpr std::chrono::milliseconds kChangesAgeMax{250};
// control/client.h: bytes of an answer. The status of kNodesMax nodes fits.
inline constexpr std::size_t kControlAnswerBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kControlFileBytesMax = 4096;

// output_hub.h: bytes of the console that are kept, and bytes of one answer.
inline constexpr std::size_t kOutputKeptBytes = std::size_t{1} << 20;
inline constexpr std::size_t kOutputAnswerBytes = std::size_t{32} << 10;
// Requests that wait for output at a time. Fewer than kControlConnectionsMax, so that connections
// remain for short requests.
inline constexpr std::size_t kOutputWatchersMax = 32;
inline constexpr std::chrono::seconds kOutputWaitMax{20};  // how long a request may wait
inline constexpr std::uint64_t kOutputLinesMax = 1'000'000;  // that a request may ask for
// How long the end of the run waits for the next request of a watcher, and for all watchers.
inline constexpr std::chrono::seconds kOutputEndWait{1};
inline constexpr std::chrono::seconds kOutputEndWaitMax{2};

// Size at which the console file of a detached run is rotated; the one before it is kept.
inline constexpr std::uint64_t kConsoleLogBytesMax = std::uint64_t{64} << 20;

// step_rate.h: the window of the speed that `robustrun status` shows, and the time between samples.
inline constexpr std::chrono::seconds kStepRateWindow{30};
inline constexpr std::chrono::seconds kStepRateSample{1};

// The longest grace period that `robustrun stop` may give.
inline constexpr std::chrono::hours kStopGraceMax{24};

// version_store.h: bytes of environment and arguments of one version.
inline constexpr std::size_t kVersionBytesMax = std::size_t{128} << 10;
inline constexpr std::chrono::hours kUpdateWithinMax{24 * 366};

// group_replay.h: how long the other nodes of a group may go on after one has failed. Longer than
// an agent lets the other processes of its node go on (agent/node/limits.h).
inline constexpr std::chrono::seconds kReplayOthersMax{12};
inline constexpr std::size_t kReplayWordsMax = 300;

// preflight_check.h: how long each step may take. Each limit is longer than the agents' own limit
// (agent/node/limits.h).
inline constexpr std::chrono::seconds kCheckReadyMax{10};
inline constexpr std::chrono::seconds kCheckFastMax{12};
inline constexpr std::chrono::seconds kCheckFullMax{100};
inline constexpr std::chrono::seconds kCheckGpuMax{320};
inline constexpr std::chrono::seconds kCheckRoundMax{15};

// group_wait_watch.h: how long ranks wait in init_process_group for others until the wait is
// logged, and the time between looks for such waits.
inline constexpr std::chrono::seconds kGroupWaitSaidAfter{30};
inline constexpr std::chrono::seconds kGroupWaitLooksApart{1};

// collective_count.h: communicators of one rank whose collectives count; as many as its agent
// reports.
inline constexpr std::size_t kCountedCommunicatorsMax = 1024;

// hang_watch.h: overdue operations that are remembered.
inline constexpr std::size_t kOverdueMax = 4096;
// Steps are missing when a group has done none for kNoStepMin, and for kNoStepFactor times its
// longest pause between steps. This is only judged after kGapsToLearn pauses.
inline constexpr std::uint32_t kGapsToLearn = 3;
inline constexpr std::chrono::seconds kNoStepMin{10};
inline constexpr int kNoStepFactor = 3;
// A group without steps and collectives is looked at after kBlindLook, and then at intervals that
// double up to kBlindLookLater.
inline constexpr std::chrono::seconds kBlindLook{30};
inline constexpr std::chrono::minutes kBlindLookLater{5};
// In such a group a wait counts once stacks have stayed the same for this long.
inline constexpr std::chrono::seconds kStacksSameFor{10};
// pace_watch.h: least time and least steps of a window.
inline constexpr std::chrono::seconds kPaceWindowMin{2};
inline constexpr std::uint64_t kPaceStepsMin = 3;
// Windows before any is judged, and windows that are kept for comparison.
inline constexpr std::size_t kPaceWindowsToLearn = 8;
inline constexpr std::size_t kPaceWindowsKept = 50;
inline constexpr std::int64_t kPacePerCent = 100;
// A step is slow if it takes so many per cent more time than usual.
inline constexpr std::int64_t kPaceSlowerPerCent = 30;
// A slow group has recovered once a step takes at most so many per cent of its former usual time.
inline constexpr std::int64_t kPaceRecoveredPerCent = 110;
// pace_looks.h: from the first step to the first look, and the longest time between later looks.
inline constexpr std::chrono::seconds kPaceLookFirst{10};
inline constexpr std::chrono::seconds kPaceLookLater{60};
inline constexpr std::chrono::seconds kPaceLookAgain{3};  // to the look that must confirm a finding
// For so long after collectives became slower, looks come sooner.
inline constexpr std::chrono::seconds kPaceHaste{12};
// Otherwise the least time between looks is this times the number of ranks, so that the load does
// not grow with the job.
inline constexpr std::chrono::milliseconds kPaceLookPerRank{50};
// bandwidth_watch.h: combinations of a communicator, a kind and a size of collectives.
inline constexpr std::size_t kBandwidthGroupsMax = 4096;
inline constexpr std::size_t kBandwidthRowsMax = 64;  // shown
inline constexpr std::size_t kBandwidthRowsJournaled = 32;
inline constexpr std::size_t kBandwidthNameBytes = 64;
inline constexpr std::chrono::seconds kBandwidthStale{12};  // older reports do not count
// hang_watch.h: shorter waits are normal (Mycroft counts stragglers from 1 s, arXiv 2509.03018).
inline constexpr std::chrono::seconds kHangMin{1};
// A process that lingers after its script returned is reported after this time.
inline constexpr std::chrono::seconds kLateEndSaidAfter{20};
// Habits: places where a group waited and went on. A wait is a habit after kHabitTimes waits; it is
// then reported only if it lasts 1.5 times as long as ever before, plus kLookInterval.
inline constexpr std::size_t kHabitsMax = 64;
inline constexpr std::uint32_t kHabitTimes = 2;
// Time between looks at all workers while something is suspicious: kLookInterval during the first
// kLookOftenFor, then kLookIntervalLater (unless a rank is still).
inline constexpr std::chrono::milliseconds kLookInterval{2000};
inline constexpr std::chrono::seconds kLookIntervalLater{10};
inline constexpr std::chrono::seconds kLookOftenFor{60};
// Looks in a row that must find a rank still before its hang can be proven by that.
inline constexpr std::uint32_t kStillLooksMin = 3;
// The longest time from the end of one of these looks to the next. The looks themselves may take
// longer, depending on the load.
inline constexpr std::chrono::seconds kStillLooksApart{6};
// A suspicion that names only a phase, or no rank, is reported after this time.
inline constexpr std::chrono::seconds kVagueSaidAfter{30};
// How long a hang must last for a conviction: a hang that cannot resolve itself, one of a stopped
// process, and any other one if the rank does nothing.
inline constexpr std::chrono::seconds kConvictFinal{5};
inline constexpr std::chrono::seconds kConvictStopped{15};
inline constexpr std::chrono::seconds kConvictStill{60};  // as the agent's kSleepLeftMin
// Hangs of the last two kinds must also last this many times as long as the longest wait that is
// known to be harmless (by the operation's history, or as a habit).
inline constexpr int kConvictFactor = 4;
// Multiplies kConvictStopped and kConvictStill where a hang has ended an attempt before.
inline constexpr int kConvictAgainFactor = 2;
// How long agents may take to answer with evidence; the look is over kObserveMargin later.
inline constexpr std::chrono::milliseconds kObserveWithin{2500};
inline constexpr std::chrono::milliseconds kObserveMargin{1000};
// How long agents may take to answer without evidence after a worker has failed. Together with
// kObserveMargin less than the core's kLookBackMax.
inline constexpr std::chrono::milliseconds kLookBackWithin{800};
// Looks at what a rank uses, or at stacks, that take place at a time.
inline constexpr std::size_t kUseLooksMax = 16;
inline constexpr std::size_t kStacksWaitingMax = 4;  // each takes up to 3.5 s of kControlAnswerMax
// An answer to "stacks": frames of a stack, and reasons why ranks have no stack.
inline constexpr std::size_t kStackFramesMax = 60;
inline constexpr std::size_t kStackReasonsMax = 4;
inline constexpr std::size_t kSnapshotBytesMax = std::size_t{8} << 20;  // of one worker, encoded
inline constexpr std::uint32_t kAnalysisLane = 0x5348'1002;  // of the launcher's pool
inline constexpr std::uint32_t kCodeLane = 0x5348'1003;  // of the launcher's pool
// run/earlier_saves.h: how many earlier starts of the job are read.
inline constexpr std::uint32_t kEarlierStartsRead = 4;
inline constexpr std::uint32_t kEarlierStartsLane = 0x5348'1006;  // of the launcher's pool

// node_history.h
inline constexpr std::size_t kHistoryFilesMax = 10'000;
inline constexpr std::size_t kHistoryFileBytesMax = std::size_t{1} << 20;

// line_news.h: after so many lines without a number, or so long after the script began, it is
// logged that --line-metrics finds nothing.
inline constexpr std::uint64_t kUnmatchedLinesMax = 100;
inline constexpr std::chrono::seconds kUnmatchedTimeMax{60};

}  // namespace robustrun::supervisor
