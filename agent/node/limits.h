#pragma once
// Limits of the agent's folders that have no limits.h of their own, limits that several folders
// share, and limits of standby workers (limits of their templates: standby/limits.h). A "lane" is
// the name of one queue of a blocking pool (base/io/blocking_pool.h).

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// Bytes of a plugin's path that NCCL copies (tracer_library.h).
inline constexpr std::size_t kTracerPathBytesMax = 254;

// For loading the user's profiler plugin (profiler_slot.h).
inline constexpr std::chrono::seconds kTryPluginMax{10};
// NCCL's configuration file and the loader's cache (profiler_choice.h).
inline constexpr std::size_t kNcclConfigurationBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kLoaderCacheBytesMax = std::size_t{8} << 20;

// agent
inline constexpr unsigned kPoolThreads = 2;  // of the blocking pool
inline constexpr std::size_t kPoolQueueMax = 4096;  // jobs that wait
// Between looks at the workers' records. kQuietInterval: if no worker has done a step for
// kQuietAfter.
inline constexpr std::chrono::milliseconds kProgressInterval{100};
inline constexpr std::chrono::milliseconds kQuietInterval{500};
inline constexpr std::chrono::seconds kQuietAfter{3};
// For the workers' end and saving copies, also those of lost nodes' ranks, once the agent has
// decided to leave.
inline constexpr std::chrono::seconds kLeaveMax{10};
// Over a network: how long an agent that got a signal waits for a stop order, before it stops its
// workers itself (departure.h).
inline constexpr std::chrono::milliseconds kStopOrderMax{2000};
// On one machine: how long the supervisor may take to answer a signal that the agent passed on. If
// it does not answer, the agent stops its workers itself; they then have kStopAloneGrace to save.
inline constexpr std::chrono::seconds kAnswerMax{5};
inline constexpr std::chrono::seconds kStopAloneGrace{30};
// A signal to all commands of a run that were started by hand comes to each, and from the leader
// for all workers: at most this long after each other.
inline constexpr std::chrono::seconds kRelayedSignalMax{5};
// How long an ending agent waits until its last bytes are sent to the supervisor.
inline constexpr std::chrono::milliseconds kLastBytesMax{1500};
inline constexpr std::chrono::milliseconds kLastBytesPoll{1};

// How long to wait until an older agent of this node that was killed, and its shims, are gone.
inline constexpr std::chrono::milliseconds kPredecessorMax{5000};

// supervisor_link: without a connection, an agent whose workers make no progress gives up after
// this time.
inline constexpr std::chrono::seconds kIdleWithoutSupervisorMax{30};
inline constexpr std::chrono::milliseconds kRedialFirst{50};
inline constexpr std::chrono::milliseconds kRedialMax{1000};
inline constexpr std::chrono::milliseconds kSupervisorWatchInterval{500};
inline constexpr std::chrono::seconds kCredentialMax{30};  // to read the credential from stdin
// Findings, stages and notes kept while the supervisor is away.
inline constexpr std::size_t kUndeliveredMax = 64;
// SavingOver messages kept for a new connection.
inline constexpr std::size_t kSavingOverKeptMax = 8;

// worker
inline constexpr std::size_t kTrackerRunsBytesMax = 1024;

// About how many descriptors the agent needs beside those of its workers. Only for a message to the
// user.
inline constexpr std::uint64_t kDescriptorsOwn = 20;

// worker_set
inline constexpr std::uint32_t kSingleLane = 0;  // lane of a pool for one kind of work

// standby, standby_set
inline constexpr std::chrono::seconds kStandbyReadyMax{300};  // for imports from a slow file system
inline constexpr std::size_t kStandbysAtOnce = 2;  // standbys that import at the same time
// If at least half of the standbys are ready, a restart waits for the others, which still import:
// for the time that workers without standbys took to their first step, within these limits.
inline constexpr std::chrono::seconds kStandbyWaitMin{5};
inline constexpr std::chrono::seconds kStandbyWaitMax{20};
// A worker that has run user code for this long without a step is asked for its modules.
inline constexpr std::chrono::seconds kModulesAfter{10};
inline constexpr std::size_t kStandbyMessageBytesMax = std::size_t{256} << 10;
// All standbys together may take 1 / kStandbyMemoryShare of the available memory.
inline constexpr std::uint64_t kStandbyMemoryShare = 10;
inline constexpr std::size_t kMeminfoBytesMax = std::size_t{64} << 10;

// error_file
inline constexpr std::size_t kErrorFileBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kJsonDepthMax = 64;  // nesting of lists and objects

// flight_source, collective_watch
inline constexpr std::size_t kHttpHeadBytesMax = std::size_t{8} << 10;
inline constexpr std::size_t kFlightAnswerBytesMax = std::size_t{16}
                                                     << 20;  // about 400 bytes per entry
inline constexpr std::uint32_t kFlightLane = 0xFFFFFFFB;
inline constexpr std::chrono::seconds kFlightAnswerMax{1};
inline constexpr std::chrono::milliseconds kFlightCollectMax{1500};  // until an answer is also read
// How long a stop waits for a worker's answer about its last operations (last_look.h).
inline constexpr std::chrono::milliseconds kLastLookMax{500};
// Between questions to a worker's Flight Recorder: by default, while steps advance, and while
// collectives advance in a worker that reports no steps.
inline constexpr std::chrono::seconds kFlightInterval{1};
inline constexpr std::chrono::seconds kFlightIntervalStepping{10};
inline constexpr std::chrono::seconds kFlightIntervalMoving{5};
// After this time without a step, steps count as standing still; after twice the longest recent
// step if that is longer.
inline constexpr std::chrono::seconds kStepsStillAfter{1};
inline constexpr std::size_t kStepGapsRemembered = 8;
inline constexpr std::chrono::seconds kCollectiveProgressInterval{1};
inline constexpr std::chrono::seconds kTrafficInterval{1};  // between reads of the traffic tables
// Between reports of bandwidth.
inline constexpr std::chrono::seconds kBandwidthInterval{5};
inline constexpr std::chrono::seconds kBandwidthIntervalFallen{2};  // while slower than usual
// Between reports that also name the communicators, for a new supervisor.
inline constexpr std::chrono::minutes kBandwidthNamesInterval{1};
// A report has the rows that took most of the time.
inline constexpr std::size_t kBandwidthRowsMax = 16;
inline constexpr std::chrono::seconds kEmptyTableInterval{1};  // between reads of an empty table
inline constexpr std::size_t kWatchedCommunicatorsMax = 1024;  // of one worker
// A longer answer to Observe loses its least important parts (encode_bounded()).
inline constexpr std::size_t kObservedBytesMax = std::size_t{4} << 20;

// control_socket
inline constexpr std::size_t kControlMessageBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kControlConnectionsMax = 16;  // of one worker at a time
inline constexpr std::chrono::seconds kControlMessageTime{5};  // from first byte to last

// inject, disk_filler, disturbed_link
inline constexpr std::chrono::seconds kFaultTakenMax{5};  // for the boot module to take the order
inline constexpr std::chrono::milliseconds kFaultPoll{20};
inline constexpr std::size_t kProcStatusBytesMax = std::size_t{64} << 10;
inline constexpr std::uint64_t kDiskFillBytesMax = std::uint64_t{4} << 30;
inline constexpr std::uint64_t kMemoryFillBytesMax = std::uint64_t{1} << 30;  // in memory: tmpfs
inline constexpr std::uint64_t kDiskFillPieceMin = 4096;
// Log pumps use their descriptors as lanes, so this lane is free.
inline constexpr std::uint32_t kDiskFillLane = 0xFFFFFFFF;
// Messages that a disturbed connection holds. From kHeldMessagesCongested on, output waits.
inline constexpr std::size_t kHeldMessagesCongested = 4096;
inline constexpr std::size_t kHeldMessagesMax = std::size_t{1} << 18;

// event_choice, worker_set: how many ranks NCCL always traces in full, and for how long all ranks
// are traced after the supervisor's last look. Its looks are at most 10 s apart.
inline constexpr std::uint32_t kRanksInFull = 10;
inline constexpr std::chrono::seconds kInFullAfterLook{30};

// ras_client, ras_look: the longest report that is sent to the supervisor has about 10,000 ranks of
// one communicator.
inline constexpr std::size_t kRasSentBytesMax = std::size_t{8} << 20;
inline constexpr std::chrono::milliseconds kRasAnswerMax{500};  // for one line
inline constexpr std::chrono::milliseconds kRasPause{100};  // between two attempts
inline constexpr std::size_t kRasLineMax = 256;
inline constexpr std::size_t kRasPieceBytes = std::size_t{64} << 10;
inline constexpr std::size_t kRasReportBytesMax = std::size_t{64} << 20;  // 16,384 ranks: 40 MB

// preflight, gpu_probe, ask_program, local_facts, exchange
inline constexpr std::chrono::milliseconds kReachMax{3000};  // for a connection to one peer
inline constexpr std::size_t kCallsAtOnce = 64;
inline constexpr std::size_t kPeersMax = 4096;  // peers in one check
inline constexpr std::chrono::seconds kFactsFastMax{5};  // versions, GPUs, disks
inline constexpr std::chrono::seconds kFactsFullMax{90};  // for an import from a slow file system
// The facts' deadline is this much later than the deadline of the programs that provide them.
inline constexpr std::chrono::milliseconds kFactsMargin{500};
inline constexpr std::chrono::milliseconds kFactsGpuMax{310'000};  // for all tests of GPUs together
inline constexpr std::chrono::minutes kCheckMax{8};  // a check ends then, even without EndCheck
inline constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kFactBytesMax = 500;
inline constexpr std::size_t kVersionBytesMax = 80;
inline constexpr std::size_t kHalfOpenMax = 4096;
inline constexpr std::chrono::milliseconds kHalfHeardEvery{500};
inline constexpr std::size_t kTcpTableBytesMax = std::size_t{16} << 20;
inline constexpr std::chrono::milliseconds kExchangeTime{300};  // data goes both ways at once
inline constexpr std::chrono::seconds kExchangeMax{4};  // kExchangeTime and all waits
inline constexpr std::size_t kExchangePieceBytes = std::size_t{256} << 10;
inline constexpr std::chrono::seconds kMeasureMax{10};  // for one round of exchanges
inline constexpr int kComputePieces = 16;
inline constexpr std::size_t kComputePieceBytes = std::size_t{4} << 20;
inline constexpr std::uint32_t kCheckLane = 0xFFFFFFFE;

// replay: how long the other processes may go on after one has failed, and how long killed
// processes may take to be gone
inline constexpr std::chrono::seconds kReplayOthersMax{10};
inline constexpr std::chrono::seconds kReplayKillMax{15};
inline constexpr std::size_t kReplayCodesMax = 64;
inline constexpr unsigned kReplayFolderMode = 0700;
inline constexpr unsigned kReplayLogMode = 0600;

// evidence_collector: time between two looks at a process or stack.
inline constexpr std::chrono::milliseconds kLooksApart{1000};
// Programs are killed this long before the deadline of their part.
inline constexpr std::chrono::milliseconds kEvidenceMargin{150};
inline constexpr std::uint32_t kEvidenceLane = 0xFFFFFFFD;
inline constexpr std::uint32_t kSourceLane = 0xFFFFFFE0;
inline constexpr std::size_t kSourceBytesMax = std::size_t{4} << 20;  // of a file
inline constexpr std::size_t kCallBytesMax = 60;
// A lane of its own, because a dead adapter may block reads of its files.
inline constexpr std::uint32_t kNetworkLane = 0xFFFFFFFC;
// Looks that run or are queued, at all workers together: a look that hangs must not let the queue
// grow.
inline constexpr unsigned kSlowLooksMax = 64;

// process_look
inline constexpr std::size_t kProcessesMax = std::size_t{1} << 17;  // of the machine
inline constexpr std::size_t kDescendantsMax = 1024;
inline constexpr std::size_t kWaitChannelBytesMax = 64;

// faulthandler_text, python_stacks, native_stacks
inline constexpr std::size_t kStackThreadsMax = 128;
inline constexpr std::size_t kStackFramesMax = 100;  // of a thread; faulthandler's own limit
// Of a function's name the first bytes are kept, of a file's path the last bytes.
inline constexpr std::size_t kStackNameBytesMax = 256;
inline constexpr std::size_t kStackBytesMax = std::size_t{128} << 10;  // for names of all frames
inline constexpr std::size_t kStackDumpBytesMax = std::size_t{1} << 20;
// A larger file is truncated before the next dump.
inline constexpr std::size_t kStackFileBytesMax = std::size_t{4} << 20;
inline constexpr std::chrono::milliseconds kStackPoll{10};  // between looks at a growing dump
// A dump counts as whole after so many looks without growth.
inline constexpr unsigned kStackQuietPolls = 5;  // if it ends like a whole dump
inline constexpr unsigned kStackQuietPollsMax = 50;  // otherwise

// worker_sockets
inline constexpr std::size_t kSocketsMax = 256;  // reported per worker
inline constexpr std::size_t kSocketInodesMax = std::size_t{1} << 16;
inline constexpr std::size_t kSocketAnswerBytes = std::size_t{64} << 10;  // of one read
inline constexpr unsigned kSocketReadsMax = 1U << 16;
// Until the kernel sends the next part of its answer.
inline constexpr std::chrono::milliseconds kSocketAnswerMax{500};

// A connection counts as idle if at most so many bytes went over it between two looks.
inline constexpr std::uint64_t kIdleSocketBytes = 1024;

// process_look, thread_waits: threads that are looked at
inline constexpr std::size_t kWaitingThreadsMax = 4096;
inline constexpr std::size_t kPolledMax = 64;  // descriptors of one poll() that are looked at
// A shorter sleep ends before a hang has consequences (kConvictStill of supervisor/limits.h).
inline constexpr std::chrono::seconds kSleepLeftMin{60};

// network_state
inline constexpr std::size_t kLinksMax = 64;  // reported

// gpu_state
inline constexpr std::size_t kGpusMax = 64;

// gpu_holders, gpu_release
inline constexpr std::chrono::seconds kGpuFreeMax{10};  // new workers wait for GPU memory
inline constexpr std::chrono::milliseconds kGpuFreePoll{200};  // between looks at the GPUs
inline constexpr std::chrono::seconds kGpuAskMax{5};  // for the answer of one look
// Workers use no GPU memory before this age, because CUDA takes longer to start.
inline constexpr std::chrono::seconds kGpuFirstLookLate{1};
inline constexpr std::chrono::seconds kGpuWaitReported{1};  // longer waits are logged
inline constexpr std::uint32_t kGpuLane = 0xFFFFFFFA;
inline constexpr std::uint32_t kFreeLane = 0xFFFFFFF9;  // held_copies: memory that is given back
// If NVML names no process, memory counts as held if its use has grown by more than this.
inline constexpr std::uint64_t kGpuSlackMib = 256;
inline constexpr std::size_t kGpuHoldersShown = 4;
inline constexpr std::size_t kProcEnvironBytesMax = std::size_t{4} << 20;

// gpu_state
inline constexpr std::size_t kGpuErrorsMax = 16;  // the newest errors of one GPU
inline constexpr unsigned kKernelRecordsMax = 1U << 15;  // for one look

// attempt_dirs
inline constexpr unsigned kCyclesMax = 10'000;  // folders attempt_<N>.cycle_<M> of one attempt

// numa
inline constexpr unsigned kCpusMax = 8192;  // the kernel's own limit
inline constexpr std::size_t kSysfsBytesMax = std::size_t{64} << 10;

// port
inline constexpr unsigned kPortDrawsMax = 256;
// If there are fewer candidates, ports below 10000 are added. If there are still too few, the
// candidates are all ports from 10000 on, including the kernel's ephemeral ports.
inline constexpr std::size_t kPortCandidatesMin = 1024;

// worker_version: the list of a version's code files
inline constexpr std::size_t kCodeListBytesMax = std::size_t{64} << 20;

}  // namespace robustrun::agent
