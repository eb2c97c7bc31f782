#pragma once
// Every option as one data row: the parser, --help, docs/cli.md, TOML keys, --print-config and the
// environment variables are all made from this table, so that they cannot disagree.
//
// torchrun's options (torchrun.md a.1.2) are spelt with dashes or underscores, may be abbreviated,
// and read PET_<NAME>. Our own are spelt with dashes, never abbreviated, and read
// ROBUSTRUN_<NAME>. No name of ours may be a prefix of one of torchrun's (a test checks).

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace robustrun::cli {

enum class OptionId : std::uint8_t {
  // torchrun's
  kNnodes,
  kNprocPerNode,
  kRdzvBackend,
  kRdzvEndpoint,
  kRdzvId,
  kRdzvConf,
  kStandalone,
  kMaxRestarts,
  kMonitorInterval,
  kStartMethod,
  kEventLogHandler,
  kRole,
  kModule,
  kNoPython,
  kRunPath,
  kLogDir,
  kRedirects,
  kTee,
  kLocalRanksFilter,
  kDuplicateStdoutFilters,
  kDuplicateStderrFilters,
  kNodeRank,
  kMasterAddr,
  kMasterPort,
  kLocalAddr,
  kLogsSpecs,
  kNumaBinding,
  kSignalsToHandle,
  kShutdownTimeout,
  kVirtualLocalRank,
  // ours
  kConfig,
  kPrintConfig,
  kDryRun,
  kCompat,
  kRunDir,
  kTimeLimit,
  kStopAfterSteps,
  kSummaryJson,
  kRestartWindow,
  kInject,
  kOmp,
  kStdin,
  kLinePrefix,
  kLogFormat,
  kLogLevel,
  kColour,
  kStackSignal,
  kHosts,
  kHostfile,
  kInclude,
  kExclude,
  kSpares,
  kNodesMin,
  kRank0,
  kIface,
  kLauncher,
  kSshTransport,
  kSshCommand,
  kSshFanout,
  kSshTimeout,
  kSecretFile,
  kInsecureRdzv,
  kOrphanGrace,
  kHeartbeatInterval,
  kNodeSuspectAfter,
  kNodeLostAfter,
  kWaitForNodes,
  kFoldLines,
  kRanksFilter,
  kExpectWorld,
  kDetach,
  kSlurm,
  kSaveWithin,
  kNumaMemory,
  kPreflight,
  kTopology,
  kParallel,
  kRankOrder,
  kAffinity,
  kModel,
  kTraffic,
  kRerank,
  kNodeHistory,
  kTrace,
  kHangTimeout,
  kCopiesRate,
  kMetricsPort,
  kMetricsFile,
  kEvents,
  kOnIncident,
  kFaults,
  kPolicy,
  kHealth,
  kStandby,
  kLineMetrics,
  kReplayCommand,
  kPrefetch,
  kCacheDir,
  // of `robustrun check` alone
  kGpu,
  // of `robustrun submit` alone
  kNodes,
  kPartition,
  kAccount,
  kQos,
  kTime,
  kJobName,
  kGpusPerNode,
  kRequeueOn,
  kSbatch,
  // of `robustrun plan` alone
  kJson,
  kSvg,
  kColourBy,
  kExplain,
  kLose,
  kUnit,  // of `robustrun replay` alone
  kHelp,
  kVersion,
  kCount,
};
inline constexpr std::size_t kOptionCount = static_cast<std::size_t>(OptionId::kCount);

enum class Type : std::uint8_t {
  kFlag,      // no value on the command line; bool in TOML; an integer in the environment
  kInteger,   // between `min` and `max`
  kNumber,    // decimal fraction, at least `min`
  kText,      // any text; in TOML a string
  kWord,      // any text; in TOML a string or an integer (nproc_per_node = 8)
  kChoice,    // one of `values`, separated by '|'
  kDuration,  // 90, 200ms, 90s, 15m, 2h; in TOML a string or a number of seconds
  kList,      // a,b,c; in TOML a string or an array
  kFilters,   // a,b,c where ",," is a comma; in TOML an array of strings
};

enum class Group : std::uint8_t {
  kWhat,
  kRendezvous,
  kPlacement,
  kFailures,
  kOutput,
  kSelf,
  kCheck,
  kSubmit,
  kPlan,
  kReplay
};
inline constexpr std::size_t kGroupCount = 10;

struct Option {
  OptionId id;
  const char* name;               // with dashes: "nproc-per-node"
  char short_name = '\0';
  const char* alias = nullptr;    // second spelling of one of ours: "color"
  Type type = Type::kText;
  const char* values = "";        // choices, or what the help shows for the value
  const char* native = nullptr;   // default; nullptr: not set
  const char* compat = nullptr;   // default with --compat=torchrun; nullptr: as `native`
  Group group;
  bool torchrun = false;
  bool variable = true;           // has an environment variable
  bool file = true;               // has a TOML key
  const char* fallback = nullptr; // variable read when nothing else gives a value
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  const char* help;
};

[[nodiscard]] std::span<const Option> options();
[[nodiscard]] const Option& option(OptionId id);
[[nodiscard]] const char* title(Group group);
// "nproc_per_node": TOML key, and the second spelling of torchrun's options.
[[nodiscard]] std::string underscored(std::string_view name);
// PET_NPROC_PER_NODE, ROBUSTRUN_TIME_LIMIT; empty when there is none.
[[nodiscard]] std::string variable_name(const Option& row);
// "-r/--redirects", "--rdzv-id/--rdzv_id": as argparse names an option in its errors.
[[nodiscard]] std::string display_name(const Option& row);
// Row whose TOML key this is, dashes or underscores; nullptr when there is none.
[[nodiscard]] const Option* find_by_key(std::string_view key);

}  // namespace robustrun::cli
