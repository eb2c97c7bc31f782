#pragma once
// Limits of all folders of the agent that have no limits.h of their own, of standby workers, and of
// what several folders share.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// Bytes of a plugin's path that NCCL copies (tracer_library.h).
inline constexpr std::size_t kTracerPathBytesMax = 254;

// How long a profiler plugin of the user's may take to be loaded (profiler_slot.h).
inline constexpr std::chrono::seconds kTryPluginMax{10};
// NCCL's configuration file and the loader's cache (profiler_choice.h).
inline constexpr std::size_t kNcclConfigurationBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kLoaderCacheBytesMax = std::size_t{8} << 20;

// agent
inline constexpr unsigned kPoolThreads = 2;  // of the blocking pool
inline constexpr std::size_t kPoolQueueMax = 4096;  // jobs that wait
inline constexpr std::chrono::milliseconds kProgressInterval{100};
// Between looks at the workers' records once no worker has made a step for kQuietAfter.
inline constexpr std::chrono::milliseconds kQuietInterval{500};
inline constexpr std::chrono::seconds kQuietAfter{3};
// From the decision to leave until the process ends.
inline constexpr std::chrono::seconds kLeaveMax{10};
// How long a node that was told to end waits for a stop order before it stops its workers itself.
inline constexpr std::chrono::milliseconds kStopOrderMax{2000};
// On one machine: how long its supervisor may take to answer a signal that was passed on, and what
// the workers have to save if it does not, which is seldom while it lives.
inline constexpr std::chrono::seconds kAnswerMax{5};
inline constexpr std::chrono::seconds kStopAloneGrace{30};
// How long an ending agent waits until its last bytes are sent to the supervisor.
inline constexpr std::chrono::milliseconds kLastBytesMax{1500};
inline constexpr std::chrono::milliseconds kLastBytesPoll{1};

// How long to wait until a killed older agent of this node, and its shims, are gone.
inline constexpr std::chrono::milliseconds kPredecessorMax{5000};

// supervisor_link
inline constexpr std::chrono::seconds kIdleWithoutSupervisorMax{30};
inline constexpr std::chrono::milliseconds kRedialFirst{50};
inline constexpr std::chrono::milliseconds kRedialMax{1000};
inline constexpr std::chrono::milliseconds kSupervisorWatchInterval{500};
inline constexpr std::chrono::seconds kCredentialMax{30};  // to read it from stdin
// Findings, stages and notes kept while the supervisor is away.
inline constexpr std::size_t kUndeliveredMax = 64;
// SavingOver messages kept for a new connection.
inline constexpr std::size_t kSavingOverKeptMax = 8;

// worker
inline constexpr std::size_t kTrackerRunsBytesMax = 1024;

// Descriptors that the agent has open or needs for a moment, beside those of each worker; only for
// messages.
inline constexpr std::uint64_t kDescriptorsOwn = 20;

// worker_set
inline constexpr std::uint32_t kSingleLane = 0;  // lane of a pool for one kind of work

// standby, standby_set
inline constexpr std::chrono::seconds kStandbyReadyMax{300};  // for imports from a slow file system
inline constexpr std::size_t kStandbysAtOnce = 2;  // that import at the same time
// If at least half of the standbys are ready, a restart waits for those that import: as long as
// workers without standbys took from their start to their first step, within these limits.
inline constexpr std::chrono::seconds kStandbyWaitMin{5};
inline constexpr std::chrono::seconds kStandbyWaitMax{20};
inline constexpr std::chrono::seconds kModulesAfter{10};  // of user code without a step
inline constexpr std::size_t kStandbyMessageBytesMax = std::size_t{256} << 10;
inline constexpr std::uint64_t kStandbyMemoryShare = 10;  // one part in ten of what is available
inline constexpr std::size_t kMeminfoBytesMax = std::size_t{64} << 10;

// error_file
inline constexpr std::size_t kErrorFileBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kJsonDepthMax = 64;  // of lists and objects within each other

// flight_source, collective_watch
inline constexpr std::size_t kHttpHeadBytesMax = std::size_t{8} << 10;
inline constexpr std::size_t kFlightAnswerBytesMax = std::size_t{16}
                                                     << 20;  // about 400 bytes per entry
inline constexpr std::uint32_t kFlightLane = 0xFFFFFFFB;
inline constexpr std::chrono::seconds kFlightAnswerMax{1};
// How long a stop waits for a worker's answer about its last operations (last_look.h).
inline constexpr std::chrono::milliseconds kLastLookMax{500};
inline constexpr std::chrono::seconds kFlightInterval{1};
// While steps advance; and while collectives advance in a worker that reports no steps.
inline constexpr std::chrono::seconds kFlightIntervalStepping{10};
inline constexpr std::chrono::seconds kFlightIntervalMoving{5};
inline constexpr std::chrono::seconds kStepsStillAfter{1};  // or twice the longest recent step
inline constexpr std::size_t kStepGapsRemembered = 8;
inline constexpr std::chrono::seconds kCollectiveProgressInterval{1};
// How often the record's tables of traffic are read, and reports of bandwidth are sent: the rows
// that took most of the time, and names for a supervisor that took the run over.
inline constexpr std::chrono::seconds kTrafficInterval{1};
inline constexpr std::chrono::seconds kBandwidthInterval{5};
inline constexpr std::chrono::seconds kBandwidthIntervalFallen{2};  // while slower than usual
inline constexpr std::chrono::minutes kBandwidthNamesInterval{1};
inline constexpr std::size_t kBandwidthRowsMax = 16;
inline constexpr std::chrono::seconds kEmptyTableInterval{1};  // between reads of a record's table
inline constexpr std::size_t kWatchedCommunicatorsMax = 1024;  // of one worker
// A longer answer to Observe loses its least telling parts.
inline constexpr std::size_t kObservedBytesMax = std::size_t{4} << 20;

// control_socket
inline constexpr std::size_t kControlMessageBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kControlConnectionsMax = 16;  // of one worker at a time
inline constexpr std::chrono::seconds kControlMessageTime{5};  // from its first byte to the last

// inject, disk_filler, disturbed_link
inline constexpr std::chrono::seconds kFaultTakenMax{5};  // for the boot module to take the order
inline constexpr std::chrono::milliseconds kFaultPoll{20};
inline constexpr std::size_t kProcStatusBytesMax = std::size_t{64} << 10;
inline constexpr std::uint64_t kDiskFillBytesMax = std::uint64_t{64} << 30;
inline constexpr std::uint64_t kMemoryFillBytesMax = std::uint64_t{1} << 30;  // tmpfs
inline constexpr std::uint64_t kDiskFillPieceMin = 4096;
// Log pumps use lanes with the numbers of their descriptors, so this one is free.
inline constexpr std::uint32_t kDiskFillLane = 0xFFFFFFFF;
// Messages that a disturbed connection holds. From kHeldMessagesCongested on, output waits.
inline constexpr std::size_t kHeldMessagesCongested = 4096;
inline constexpr std::size_t kHeldMessagesMax = std::size_t{1} << 18;

// event_choice, worker_set: how many ranks of the job NCCL always traces in full, and how long all
// are traced after the supervisor's last look (its looks are at most 10 s apart).
inline constexpr std::uint32_t kRanksInFull = 10;
inline constexpr std::chrono::seconds kInFullAfterLook{30};

// ras_client, ras_look
// Longest report that is passed on: about 10,000 ranks of one communicator.
inline constexpr std::size_t kRasSentBytesMax = std::size_t{8} << 20;
inline constexpr std::chrono::milliseconds kRasAnswerMax{500};  // for one line
inline constexpr std::chrono::milliseconds kRasPause{100};  // between two attempts
inline constexpr std::size_t kRasLineMax = 256;
inline constexpr std::size_t kRasPieceBytes = std::size_t{64} << 10;
inline constexpr std::size_t kRasReportBytesMax = std::size_t{64} << 20;  // 16,384 ranks: 40 MB

// preflight, gpu_probe, ask_program, local_facts, exchange
inline constexpr std::chrono::milliseconds kReachMax{3000};  // for one call of a peer
inline constexpr std::size_t kCallsAtOnce = 64;
inline constexpr std::size_t kPeersMax = 4096;  // calls in one check
inline constexpr std::chrono::seconds kFactsFastMax{5};  // versions, GPUs, disks
inline constexpr std::chrono::seconds kFactsFullMax{90};  // for an import from a slow file system
// The check's deadline is this much later than that of the programs that it asks.
inline constexpr std::chrono::milliseconds kFactsMargin{500};
inline constexpr std::chrono::milliseconds kFactsGpuMax{310'000};  // for all tests of GPUs together
inline constexpr std::chrono::minutes kCheckMax{8};  // a check without an EndCheck is over then
inline constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kFactBytesMax = 500;
inline constexpr std::size_t kVersionBytesMax = 80;
inline constexpr std::size_t kHalfOpenMax = 4096;
inline constexpr std::chrono::milliseconds kHalfHeardEvery{500};
inline constexpr std::size_t kTcpTableBytesMax = std::size_t{16} << 20;
inline constexpr std::chrono::milliseconds kExchangeTime{300};  // in both directions at once
inline constexpr std::chrono::seconds kExchangeMax{4};  // with all its waits
inline constexpr std::size_t kExchangePieceBytes = std::size_t{256} << 10;
inline constexpr std::chrono::seconds kMeasureMax{10};  // one round
inline constexpr int kComputePieces = 16;
inline constexpr std::size_t kComputePieceBytes = std::size_t{4} << 20;
inline constexpr std::uint32_t kCheckLane = 0xFFFFFFFE;

// replay: time for the other processes after one has failed; time for killed ones to be gone
inline constexpr std::chrono::seconds kReplayOthersMax{10};
inline constexpr std::chrono::seconds kReplayKillMax{15};
inline constexpr std::size_t kReplayCodesMax = 64;
inline constexpr unsigned kReplayFolderMode = 0700;
inline constexpr unsigned kReplayLogMode = 0600;

// evidence_collector
// Between two looks at a process or stack.
inline constexpr std::chrono::milliseconds kLooksApart{1000};
// Programs are killed this long before the deadline of their part.
inline constexpr std::chrono::milliseconds kEvidenceMargin{150};
inline constexpr std::uint32_t kEvidenceLane = 0xFFFFFFFD;
inline constexpr std::uint32_t kSourceLane = 0xFFFFFFE0;
inline constexpr std::size_t kSourceBytesMax = std::size_t{4} << 20;  // of a file
inline constexpr std::size_t kCallBytesMax = 60;
inline constexpr std::uint32_t kNetworkLane = 0xFFFFFFFC;  // a dead adapter may block its files
// Looks of all workers that are under way or queued: when one hangs, no more are queued behind it.
inline constexpr unsigned kSlowLooksMax = 64;

// process_look
inline constexpr std::size_t kProcessesMax = std::size_t{1} << 17;  // of the machine
inline constexpr std::size_t kDescendantsMax = 1024;
inline constexpr std::size_t kWaitChannelBytesMax = 64;

// faulthandler_text, python_stacks, native_stacks
inline constexpr std::size_t kStackThreadsMax = 128;
inline constexpr std::size_t kStackFramesMax = 100;  // of a thread; faulthandler's own bound
// Bytes kept of a function's name, from its beginning, and of a file's path, from its end.
inline constexpr std::size_t kStackNameBytesMax = 256;
inline constexpr std::size_t kStackBytesMax = std::size_t{128} << 10;  // names of all frames
inline constexpr std::size_t kStackDumpBytesMax = std::size_t{1} << 20;
// A larger file is truncated before the next dump.
inline constexpr std::size_t kStackFileBytesMax = std::size_t{4} << 20;
inline constexpr std::chrono::milliseconds kStackPoll{10};  // between looks at a dump
inline constexpr unsigned kStackQuietPolls = 5;  // without growth, after an apparent end
inline constexpr unsigned kStackQuietPollsMax = 50;  // without growth, after anything else

// worker_sockets
inline constexpr std::size_t kSocketsMax = 256;  // reported per worker
inline constexpr std::size_t kSocketInodesMax = std::size_t{1} << 16;
inline constexpr std::size_t kSocketAnswerBytes = std::size_t{64} << 10;  // one read
inline constexpr unsigned kSocketReadsMax = 1U << 16;
// Until the kernel sends the next part of its answer.
inline constexpr std::chrono::milliseconds kSocketAnswerMax{500};

// A connection over which no more than this went between two looks only shows that it lives.
inline constexpr std::uint64_t kIdleSocketBytes = 1024;

// Threads that are looked at; thread_waits: descriptors of one poll().
inline constexpr std::size_t kWaitingThreadsMax = 4096;
inline constexpr std::size_t kPolledMax = 64;
// A shorter sleep ends before a hang is acted upon anyway (kConvictStill of supervisor/limits.h).
inline constexpr std::chrono::seconds kSleepLeftMin{60};

// network_state
inline constexpr std::size_t kLinksMax = 64;  // reported

// gpu_state
inline constexpr std::size_t kGpusMax = 64;

// gpu_holders, gpu_release: how long new workers wait for GPU memory; interval of the looks; time
// limit of an answer. A wait of kGpuWaitReported or longer is logged.
inline constexpr std::chrono::seconds kGpuFreeMax{10};
inline constexpr std::chrono::milliseconds kGpuFreePoll{200};
inline constexpr std::chrono::seconds kGpuAskMax{5};
inline constexpr std::chrono::seconds kGpuFirstLookLate{1};  // CUDA takes longer to start
inline constexpr std::chrono::seconds kGpuWaitReported{1};
inline constexpr std::uint32_t kGpuLane = 0xFFFFFFFA;
// Where NVML names no process, more growth of the used memory than this counts as held memory.
inline constexpr std::uint64_t kGpuSlackMib = 256;
inline constexpr std::size_t kGpuHoldersShown = 4;
inline constexpr std::size_t kProcEnvironBytesMax = std::size_t{4} << 20;

// gpu_state
inline constexpr std::size_t kGpuErrorsMax = 16;  // of one GPU; the newest
inline constexpr unsigned kKernelRecordsMax = 1U << 15;  // for one look

// attempt_dirs
inline constexpr unsigned kCyclesMax = 10'000;  // cycles of one attempt that are kept

// numa
inline constexpr unsigned kCpusMax = 8192;  // as the kernel's own limit
inline constexpr std::size_t kSysfsBytesMax = std::size_t{64} << 10;

// port
inline constexpr unsigned kPortDrawsMax = 256;
// With fewer, ports below 10000 are taken as well.
inline constexpr std::size_t kPortCandidatesMin = 1024;

// worker_version: the list of a version's code, kCodeFilesMax paths
inline constexpr std::size_t kCodeListBytesMax = std::size_t{64} << 20;

}  // namespace robustrun::agent
