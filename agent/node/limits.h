#pragma once
// Every bound of the agent room.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// What NCCL copies of a plugin's path (tracer_library.h).
inline constexpr std::size_t kTracerPathBytesMax = 254;

// agent
inline constexpr unsigned kPoolThreads = 2;           // file writes
inline constexpr std::size_t kPoolQueueMax = 4096;    // jobs waiting
inline constexpr std::chrono::milliseconds kProgressInterval{100};
// Between two looks at the workers' records once no worker has made a step for kQuietAfter.
inline constexpr std::chrono::milliseconds kQuietInterval{500};
inline constexpr std::chrono::seconds kQuietAfter{3};
inline constexpr std::chrono::seconds kLeaveMax{10};  // from the order to go until we are gone
// A node that was told to end stops its workers by itself when the supervisor has not for so long.
inline constexpr std::chrono::milliseconds kStopOrderMax{2000};
inline constexpr std::chrono::milliseconds kFarewellMax{1500};  // last bytes to the supervisor
inline constexpr std::chrono::milliseconds kFarewellPoll{1};

// What an older agent of this node, and its shims, get to be gone once they were killed.
inline constexpr std::chrono::milliseconds kPredecessorMax{5000};

// home_link
inline constexpr std::chrono::seconds kFirstContactMax{30};   // until the first connection
inline constexpr std::chrono::seconds kIdleWithoutHomeMax{30};
inline constexpr std::chrono::milliseconds kRedialFirst{50};
inline constexpr std::chrono::milliseconds kRedialMax{1000};
inline constexpr std::chrono::milliseconds kHomeWatchInterval{500};
inline constexpr std::chrono::seconds kCredentialMax{30};     // to read it from stdin
inline constexpr std::size_t kUnheardMax = 64;  // findings kept while the supervisor is away
inline constexpr std::size_t kSavedToldMax = 8;  // words that saving is over, said again

// worker
inline constexpr std::size_t kStderrTailLines = 50;   // kept for the report

// worker_set
inline constexpr std::uint32_t kSingleLane = 0;  // of a pool for one kind of work

// standby, standby_set
inline constexpr std::chrono::seconds kStandbyReadyMax{300};  // imports, from a slow file system
inline constexpr std::size_t kStandbysAtOnce = 2;  // that import
// With half of the standbys ready, a restart waits so long for those that import.
inline constexpr std::chrono::seconds kStandbyWaitMax{20};
inline constexpr std::chrono::seconds kModulesAfter{10};  // of user code without a step
inline constexpr std::size_t kStandbyMessageBytesMax = std::size_t{256} << 10;
inline constexpr std::uint64_t kStandbyMemoryShare = 10;  // one part in ten of what is available
inline constexpr std::size_t kMeminfoBytesMax = std::size_t{64} << 10;

// error_file
inline constexpr std::size_t kErrorFileBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kJsonDepthMax = 64;  // lists and objects within each other

// flight_source, collective_watch
inline constexpr std::size_t kHttpHeadBytesMax = std::size_t{8} << 10;
inline constexpr std::size_t kFlightAnswerBytesMax = std::size_t{16} << 20;  // 400 bytes each
inline constexpr std::uint32_t kFlightLane = 0xFFFFFFFB;
inline constexpr std::chrono::seconds kFlightAnswerMax{1};
// A stop waits so long for what the workers called last: then they are told to end.
inline constexpr std::chrono::milliseconds kLastLookMax{500};
inline constexpr std::chrono::seconds kFlightInterval{1};
// While steps advance, and while collectives do in a worker that tells of no steps.
inline constexpr std::chrono::seconds kFlightIntervalStepping{10};
inline constexpr std::chrono::seconds kFlightIntervalMoving{5};
inline constexpr std::chrono::seconds kStepsStillAfter{1};  // or twice the longest of the last
inline constexpr std::size_t kStepGapsRemembered = 8;
inline constexpr std::chrono::seconds kCollectiveProgressInterval{1};
inline constexpr std::chrono::seconds kEmptyTableInterval{1};  // of a record, read again
inline constexpr std::size_t kWatchedCommunicatorsMax = 1024;  // of one worker
// An answer to Observe has at most so many bytes, and leaves out the least telling.
inline constexpr std::size_t kObservedBytesMax = std::size_t{4} << 20;

// control_socket
inline constexpr std::size_t kControlMessageBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kControlConnectionsMax = 16;  // of one worker at a time
inline constexpr std::chrono::seconds kControlMessageTime{5};  // from its first byte to the last

// inject, disk_filler, disturbed_link
inline constexpr std::chrono::seconds kFaultTakenMax{5};  // until the boot module took the order
inline constexpr std::chrono::milliseconds kFaultPoll{20};
inline constexpr std::size_t kProcStatusBytesMax = std::size_t{64} << 10;
inline constexpr std::uint64_t kDiskFillBytesMax = std::uint64_t{64} << 30;
inline constexpr std::uint64_t kMemoryFillBytesMax = std::uint64_t{1} << 30;  // tmpfs
inline constexpr std::uint64_t kDiskFillPieceMin = 4096;
inline constexpr std::uint32_t kDiskFillLane = 0xFFFFFFFF;  // log pumps have their descriptors'
// A disturbed connection holds so many messages; workers' output waits from the first number on.
inline constexpr std::size_t kHeldMessagesCongested = 4096;
inline constexpr std::size_t kHeldMessagesMax = std::size_t{1} << 18;

// event_choice, worker_set: ranks of the job of which NCCL tells everything, always; and how long
// all do after the supervisor has looked at them last (its looks are at most 10 s apart).
inline constexpr std::uint32_t kRanksInFull = 10;
inline constexpr std::chrono::seconds kInFullAfterLook{30};

// ras_client, ras_look
// A report that is sent on: about 10,000 ranks of one communicator.
inline constexpr std::size_t kRasSentBytesMax = std::size_t{8} << 20;
inline constexpr std::chrono::milliseconds kRasAnswerMax{500};  // to one line
inline constexpr std::chrono::milliseconds kRasPause{100};  // between two attempts
inline constexpr std::size_t kRasLineMax = 256;
inline constexpr std::size_t kRasPieceBytes = std::size_t{64} << 10;
inline constexpr std::size_t kRasReportBytesMax = std::size_t{64} << 20;  // 16,384 ranks: 40 MB

// preflight, gpu_probe, ask_program, local_facts, exchange
inline constexpr std::chrono::milliseconds kReachMax{3000};  // of one call at a peer
inline constexpr std::size_t kCallsAtOnce = 64;
inline constexpr std::size_t kPeersMax = 4096;  // calls in one check
inline constexpr std::chrono::seconds kFactsFastMax{5};  // versions, GPUs, disks
inline constexpr std::chrono::seconds kFactsFullMax{90};  // an import from a slow file system
inline constexpr std::chrono::milliseconds kFactsMargin{
    500};  // programs answer, or are killed, first
inline constexpr std::chrono::milliseconds kFactsGpuMax{310'000};  // tests of GPUs, all of them
inline constexpr std::chrono::minutes kCheckMax{8};  // then a check that nobody ends is over
inline constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kFactBytesMax = 500;
inline constexpr std::size_t kVersionBytesMax = 80;
inline constexpr std::size_t kHalfOpenMax = 4096;
inline constexpr std::chrono::milliseconds kHalfHeardEvery{500};
inline constexpr std::size_t kTcpTableBytesMax = std::size_t{16} << 20;
inline constexpr std::chrono::milliseconds kExchangeTime{300};  // both ways, as much as passes
inline constexpr std::chrono::seconds kExchangeMax{4};  // with all its waits
inline constexpr std::size_t kExchangePieceBytes = std::size_t{256} << 10;
inline constexpr std::chrono::seconds kMeasureMax{10};  // one round
inline constexpr int kComputePieces = 16;
inline constexpr std::size_t kComputePieceBytes = std::size_t{4} << 20;
inline constexpr std::uint32_t kCheckLane = 0xFFFFFFFE;

// replay: of the others, once one of its processes has failed; and of those that are killed
inline constexpr std::chrono::seconds kReplayOthersMax{10};
inline constexpr std::chrono::seconds kReplayKillMax{15};
inline constexpr std::size_t kReplayCodesMax = 64;
inline constexpr unsigned kReplayFolderMode = 0700;
inline constexpr unsigned kReplayLogMode = 0600;

// evidence_collector: of each part, within the time that all of them have
inline constexpr std::chrono::milliseconds kLooksApart{1000};  // two looks at a process or stack
inline constexpr std::chrono::milliseconds kEvidenceMargin{150};  // programs are killed first
inline constexpr std::uint32_t kEvidenceLane = 0xFFFFFFFD;
inline constexpr std::uint32_t kSourceLane = 0xFFFFFFE0;
inline constexpr std::size_t kSourceBytesMax = std::size_t{4} << 20;  // of a file
inline constexpr std::size_t kCallBytesMax = 60;
inline constexpr std::uint32_t kNetworkLane = 0xFFFFFFFC;  // a dead adapter may hold its files
// Looks under way or waiting of all workers: when one hangs, no more of them wait behind it.
inline constexpr unsigned kSlowLooksMax = 64;

// process_look
inline constexpr std::size_t kProcessesMax = std::size_t{1} << 17;  // of the machine, looked at
inline constexpr std::size_t kDescendantsMax = 1024;
inline constexpr std::size_t kWaitChannelBytesMax = 64;

// faulthandler_text, python_stacks, native_stacks
inline constexpr std::size_t kStackThreadsMax = 128;
inline constexpr std::size_t kStackFramesMax = 100;  // of a thread; faulthandler's own bound
inline constexpr std::size_t kStackNameBytesMax = 256;  // of a function; the end of a file's path
inline constexpr std::size_t kStackBytesMax = std::size_t{128} << 10;  // names of all frames
inline constexpr std::size_t kStackDumpBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kStackFileBytesMax = std::size_t{4} << 20;  // then it begins anew
inline constexpr std::chrono::milliseconds kStackPoll{10};
inline constexpr unsigned kStackQuietPolls = 5;  // after what looks like the end
inline constexpr unsigned kStackQuietPollsMax = 50;  // after what does not

// sock_diag
inline constexpr std::size_t kSocketsMax = 256;  // told of one worker
inline constexpr std::size_t kSocketInodesMax = std::size_t{1} << 16;
inline constexpr std::size_t kSocketAnswerBytes = std::size_t{64} << 10;  // one read
inline constexpr unsigned kSocketReadsMax = 1U << 16;
inline constexpr std::chrono::milliseconds kSocketAnswerMax{500};  // the kernel's answer begins

// network_state
inline constexpr std::size_t kLinksMax = 64;  // told

// gpu_state
inline constexpr std::size_t kGpusMax = 64;

// gpu_holders, gpu_release: how long new workers wait, how often it is looked, how long an answer
// may take, and from when on it is said that they waited.
inline constexpr std::chrono::seconds kGpuFreeMax{10};
inline constexpr std::chrono::milliseconds kGpuFreePoll{200};
inline constexpr std::chrono::seconds kGpuAskMax{5};
inline constexpr std::chrono::seconds kGpuFirstLookLate{1};  // CUDA takes longer to begin
inline constexpr std::chrono::seconds kGpuWaitSaid{1};
inline constexpr std::uint32_t kGpuLane = 0xFFFFFFFA;
inline constexpr std::uint64_t kGpuSlackMib = 256;  // more than before, and nobody is named
inline constexpr std::size_t kGpuHoldersShown = 4;
inline constexpr std::size_t kProcEnvironBytesMax = std::size_t{4} << 20;

// gpu_state
inline constexpr std::size_t kGpuErrorsMax = 16;  // of one GPU; the newest
inline constexpr unsigned kKernelRecordsMax = 1U << 15;  // read for one look

// attempt_dirs
inline constexpr unsigned kCyclesMax = 10'000;  // earlier incarnations kept of one attempt

// numa
inline constexpr unsigned kCpusMax = 8192;  // as the kernel's own limit
inline constexpr std::size_t kSysfsBytesMax = std::size_t{64} << 10;

// port
inline constexpr unsigned kPortDrawsMax = 256;
inline constexpr std::size_t kPortCandidatesMin = 1024;  // fewer: take ports below 10000 as well

// worker_version: the list of a version's code, kCodeFilesMax paths
inline constexpr std::size_t kCodeListBytesMax = std::size_t{64} << 20;

}  // namespace robustrun::agent
