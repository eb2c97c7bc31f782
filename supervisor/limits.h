#pragma once
// Every bound of the supervisor outside its core (the core has core/types/limits.h).

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::supervisor {

// Files of a run directory besides the journal.
inline constexpr std::size_t kPrivateFileBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kBootIdBytesMax = 64;
inline constexpr std::size_t kLockBytesMax = 512;
// Tries to lock a run, and the pause after each.
inline constexpr int kLockTriesMax = 100;
inline constexpr int kLockPollMs = 20;

// Interval at which a summary of progress is journaled.
inline constexpr std::chrono::minutes kSummaryInterval{1};
// run_record.h: entries that the journal did not take and that are kept for the final report;
// interval in which trouble with the journal is logged once.
inline constexpr std::size_t kLostEntriesMax = 1000;
inline constexpr std::chrono::minutes kJournalTroubleInterval{1};
// checkpoint_watch.h: interval in which at most one event of a kind is journaled; different loads
// that are noted in one attempt.
inline constexpr std::chrono::seconds kCheckpointEventInterval{10};
inline constexpr std::size_t kLoadsMax = 16;
// copy_rounds.h. Min: from the begin of a round to the next, unless the round was missed. HoldMax:
// until all ranks hold a copy. Max, MostMax: until a round is over, at first and at most. Lead: how
// far ahead of the order the step of a round lies, as time, and at most kCopyRoundAheadMax steps.
// kCopyPaceInterval: between two measurements of the ranks' pace.
inline constexpr std::chrono::seconds kCopyRoundMin{1};
inline constexpr std::chrono::seconds kCopyRoundHoldMax{60};
inline constexpr std::chrono::minutes kCopyRoundMax{10};
inline constexpr std::chrono::hours kCopyRoundMostMax{24};
inline constexpr std::chrono::milliseconds kCopyRoundLeadMin{100};
inline constexpr std::chrono::milliseconds kCopyRoundLeadMax{10'000};
inline constexpr std::chrono::milliseconds kCopyPaceInterval{500};
inline constexpr std::uint64_t kCopyRoundAheadMax = 1'000'000;  // steps
// driver/block_sharing.h: from the first node's hello to the first list of block peers, when other
// nodes are late: less than image servers wait for it (agent/image/limits.h). From a node's hello
// to the next list, so that nodes that join together share one.
inline constexpr std::chrono::seconds kBlockPeersFirst{3};
inline constexpr std::chrono::milliseconds kBlockPeersDelay{300};
// A signal to all processes of a run reaches its supervisor at most this long after the others.
inline constexpr std::chrono::seconds kRelayedSignalMax{5};
// A batch system signals both us and the batch script, which passes the signal on: the second of
// the two signals reaches us at most this long after the first.
inline constexpr std::chrono::seconds kPassedOnSignalMax{5};
// From the core's Finish until agents that have not ended are killed. Longer than an agent takes to
// save copies of the last attempt (agent/copies/limits.h).
inline constexpr std::chrono::seconds kShutdownMax{10};
// From these agents' SIGKILL until they are not waited for any more; the last output follows.
inline constexpr std::chrono::seconds kKillMax{2};
// Checks of leases per heartbeat: a lease ends at most a fraction of an interval late.
inline constexpr unsigned kLeaseChecksPerBeat = 4;
// A silent node is not lost while its peers do steps, but only this long: in jobs whose ranks do
// not depend on each other the peers would never notice its end.
inline constexpr std::chrono::seconds kSilenceWithProgressMax{60};
// Threads of the launcher's pool: for its files, name look-ups, ssh -G, and all else that would
// keep the loop waiting.
inline constexpr unsigned kLauncherThreads = 4;
inline constexpr std::size_t kLauncherQueueMax = 16384;
inline constexpr std::uint32_t kPlacementLane = 0x5348'1001;  // of that pool
inline constexpr std::uint32_t kLookUpLane = 0x5348'1007;  // of that pool
// driver/slurm_side.h, driver/job_end.h, driver/replacements.h: at random, between nothing and this
// part (1/4) of an interval is added to it.
inline constexpr int kSlurmPollJitter = 4;
// driver/job_end.h: the margin of the last save before the end of the scheduler's job, the time
// that is kept for what comes after it (a requeue), and the least that workers get.
inline constexpr std::chrono::seconds kJobEndMarginMin{45};
inline constexpr std::chrono::minutes kJobEndMarginMax{5};
inline constexpr std::chrono::seconds kJobEndReserve{5};
inline constexpr std::chrono::seconds kJobEndGraceMin{5};
// How long the save waits for the scheduler's answer whether the end still stands; how long before
// the save it is announced; and by how much the end must move for another announcement.
inline constexpr std::chrono::seconds kJobEndPatience{6};
inline constexpr std::chrono::minutes kJobEndAnnounced{10};
inline constexpr std::chrono::seconds kJobEndMoved{30};
inline constexpr std::chrono::hours kJobEndMax{24 * 366 * 10};  // a later end is a wrong answer
// driver/replacements.h: how long nodes are missing before a job is queued, how often that is
// looked at, the time from a job's start until its agent has joined, and the wait after a refusal,
// which doubles.
inline constexpr std::chrono::seconds kReplacePatience{10};
inline constexpr std::chrono::seconds kReplaceLook{5};
inline constexpr std::chrono::seconds kReplaceJoinMax{120};
inline constexpr std::chrono::minutes kReplaceAgainFirst{1};
inline constexpr std::chrono::minutes kReplaceAgainMax{30};
// Addresses of ours that an agent gets.
inline constexpr std::size_t kEndpointsMax = 8;
// Lines of the table of nodes on the console; the journal has them all.
inline constexpr std::size_t kTableLinesMax = 16;

// control/server.h: bytes of a message, connections at a time, and how long a message may take.
inline constexpr std::size_t kControlMessageBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kControlConnectionsMax = 64;
// A socket without a listener is a dead supervisor's when it is older than this.
inline constexpr std::chrono::minutes kControlSocketYoung{1};
inline constexpr std::chrono::seconds kControlMessageTime{5};
// Bytes of a request's value that a refusal repeats.
inline constexpr std::size_t kShownWordBytes = 24;
// kInjectionsMax faults may wait for a node's answer, each for kInjectionAnswerMax; the command
// waits longer (kControlAnswerMax). kFaultTimeMax: of a fault's delay, and of its duration.
inline constexpr std::size_t kInjectionsMax = 64;
inline constexpr std::size_t kNodeNameBytesMax = 255;
inline constexpr std::chrono::hours kFaultTimeMax{24 * 366 * 10};
inline constexpr std::chrono::seconds kInjectionAnswerMax{20};
inline constexpr std::chrono::seconds kControlAnswerMax{30};
// The oldest status that a request may accept.
inline constexpr std::chrono::seconds kStatusAgeMax{1};
// How old the status of an answer to "changes" may be.
inline constexpr std::chrono::milliseconds kChangesAgeMax{250};
// control/client.h: bytes of an answer. The status of kNodesMax nodes fits.
inline constexpr std::size_t kControlAnswerBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kControlFileBytesMax = 4096;

// output_hub.h: bytes of the console that are kept, bytes of one answer, and requests that wait for
// more; the remaining kControlConnectionsMax are for short requests.
inline constexpr std::size_t kOutputKeptBytes = std::size_t{1} << 20;
inline constexpr std::size_t kOutputAnswerBytes = std::size_t{32} << 10;
inline constexpr std::size_t kOutputWatchersMax = 32;
inline constexpr std::chrono::seconds kOutputWaitMax{20};
inline constexpr std::uint64_t kOutputLinesMax = 1'000'000;
// At the end: how long to wait for the next request of a watcher, and for all watchers.
inline constexpr std::chrono::seconds kOutputEndWait{1};
inline constexpr std::chrono::seconds kOutputEndWaitMax{2};

// Size at which the console file of a detached run is rotated; the one before it is kept.
inline constexpr std::uint64_t kConsoleLogBytesMax = std::uint64_t{64} << 20;

// step_rate.h: the window of the speed that `robustrun status` shows, and the time between samples.
inline constexpr std::chrono::seconds kStepRateWindow{30};
inline constexpr std::chrono::seconds kStepRateSample{1};

// Grace period that `robustrun stop` may give, at most.
inline constexpr std::chrono::hours kStopGraceMax{24};

// version_store.h: bytes of environment and arguments of one version.
inline constexpr std::size_t kVersionBytesMax = std::size_t{128} << 10;
inline constexpr std::chrono::hours kUpdateWithinMax{24 * 366};

// group_replay.h: how long the other nodes of a group may go on once one has failed; longer than an
// agent gives the other processes of its node (agent/node/limits.h).
inline constexpr std::chrono::seconds kReplayOthersMax{12};
inline constexpr std::size_t kReplayWordsMax = 300;

// preflight_check.h: its steps. Each is longer than the agents' own limit (agent/node/limits.h).
inline constexpr std::chrono::seconds kCheckReadyMax{10};
inline constexpr std::chrono::seconds kCheckFastMax{12};
inline constexpr std::chrono::seconds kCheckFullMax{100};
inline constexpr std::chrono::seconds kCheckGpuMax{320};
inline constexpr std::chrono::seconds kCheckRoundMax{15};

// group_wait_watch.h: how long ranks wait in init_process_group for others until that is logged,
// and the time between looks for it.
inline constexpr std::chrono::seconds kGroupWaitSaidAfter{30};
inline constexpr std::chrono::seconds kGroupWaitLooksApart{1};

// hang_watch.h: overdue operations that are remembered.
inline constexpr std::size_t kOverdueMax = 4096;
// Steps are missing when a group does none for kNoStepMin, and for kNoStepFactor times its longest
// pause between steps. Before kGapsToLearn such pauses that is not known.
inline constexpr std::uint32_t kGapsToLearn = 3;
inline constexpr std::chrono::seconds kNoStepMin{10};
inline constexpr int kNoStepFactor = 3;
// A group without steps and collectives is looked at from time to time; its stacks must have stayed
// the same for kStacksSameFor to count.
inline constexpr std::chrono::seconds kBlindLook{30};
inline constexpr std::chrono::minutes kBlindLookLater{5};
inline constexpr std::chrono::seconds kStacksSameFor{10};
// pace_watch.h: a window of steps, the windows of its history, and how much slower counts as slow.
inline constexpr std::chrono::seconds kPaceWindowMin{2};
inline constexpr std::uint64_t kPaceStepsMin = 3;
inline constexpr std::size_t kPaceWindowsToLearn = 8;
inline constexpr std::size_t kPaceWindowsKept = 50;
inline constexpr std::int64_t kPacePerCent = 100;
inline constexpr std::int64_t kPaceSlowerPerCent = 30;  // added to the usual time of a step
inline constexpr std::int64_t kPaceRecoveredPerCent = 110;  // of it: as fast as before again
// pace_looks.h: from the first step to the first look; between later looks; to the look that must
// confirm a finding; and the least time between looks for each rank of the job, so that the load
// does not grow with the job.
inline constexpr std::chrono::seconds kPaceLookFirst{10};
inline constexpr std::chrono::seconds kPaceLookLater{60};
inline constexpr std::chrono::seconds kPaceLookAgain{3};
inline constexpr std::chrono::seconds kPaceHaste{12};  // of looks because collectives became slower
inline constexpr std::chrono::milliseconds kPaceLookPerRank{50};
// bandwidth_watch.h: kinds and sizes of collectives on all communicators, rows that are shown and
// journaled, and the age from which a report counts no more.
inline constexpr std::size_t kBandwidthGroupsMax = 4096;
inline constexpr std::size_t kBandwidthRowsMax = 64;
inline constexpr std::size_t kBandwidthRowsJournaled = 32;
inline constexpr std::size_t kBandwidthNameBytes = 64;
inline constexpr std::chrono::seconds kBandwidthStale{12};
// Shorter waits are normal (Mycroft counts stragglers from 1 s, arXiv 2509.03018).
inline constexpr std::chrono::seconds kHangMin{1};
// hang_watch.h: a process that lingers after its script returned is reported after this time.
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
inline constexpr std::uint32_t kStillLooksMin = 3;  // that find a rank still, to act on it
// At most, from the end of one look to the next: how long they themselves take depends on the load.
inline constexpr std::chrono::seconds kStillLooksApart{6};
// How long a suspicion that names only a phase, or no rank, lasts before it is reported.
inline constexpr std::chrono::seconds kVagueSaidAfter{30};
// How long a hang lasts before it is a conviction: one that cannot come right by itself; one of a
// stopped process; any other, if the rank does nothing. The last two also at least kConvictFactor
// times as long as the longest wait that is known to be harmless (by the operation's history, or as
// a habit).
inline constexpr std::chrono::seconds kConvictFinal{5};
inline constexpr std::chrono::seconds kConvictStopped{15};
inline constexpr std::chrono::seconds kConvictStill{60};  // as the agent's kSleepLeftMin
inline constexpr int kConvictFactor = 4;
// Multiplies kConvictStopped and kConvictStill where a hang has ended an attempt before.
inline constexpr int kConvictAgainFactor = 2;
// Time for agents to answer with evidence; the look is over kObserveMargin later.
inline constexpr std::chrono::milliseconds kObserveWithin{2500};
inline constexpr std::chrono::milliseconds kObserveMargin{1000};
// The same without evidence, once a worker has failed. With kObserveMargin it is less than the
// core's kLookBackMax.
inline constexpr std::chrono::milliseconds kLookBackWithin{800};
// Looks for users, at what a rank uses or at stacks, at a time.
inline constexpr std::size_t kUseLooksMax = 16;
// Of an answer to "stacks": frames of a stack, and reasons why there are none.
inline constexpr std::size_t kStackFramesMax = 60;
inline constexpr std::size_t kStackReasonsMax = 4;
inline constexpr std::size_t kSnapshotBytesMax = std::size_t{8} << 20;
inline constexpr std::uint32_t kAnalysisLane = 0x5348'1002;  // of the launcher's pool
inline constexpr std::uint32_t kCodeLane = 0x5348'1003;  // of the launcher's pool
// run/earlier_saves.h: how many starts of the job before this one are read.
inline constexpr std::uint32_t kEarlierStartsRead = 4;
inline constexpr std::uint32_t kEarlierStartsLane = 0x5348'1006;  // of the launcher's pool

// node_history.h
inline constexpr std::size_t kHistoryFilesMax = 10'000;
inline constexpr std::size_t kHistoryFileBytesMax = std::size_t{1} << 20;

// --line-metrics: lines without a number, and time since the script began, until that is logged.
inline constexpr std::uint64_t kUnmatchedLinesMax = 100;
inline constexpr std::chrono::seconds kUnmatchedTimeMax{60};

}  // namespace robustrun::supervisor
