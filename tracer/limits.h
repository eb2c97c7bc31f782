#pragma once
// Every bound of the tracer room.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::tracer {

// Tries to read a record between two writes of its worker, without waiting in between.
inline constexpr int kReadAttemptsMax = 3;

// head_watch: what an operation may take, as long as nothing else was learned.
inline constexpr std::chrono::seconds kHeadMax{2};
inline constexpr std::chrono::seconds kHeadFirstMax{10};  // of the first ones
inline constexpr std::uint64_t kHeadsFirst = 3;
inline constexpr int kHeadFactor = 4;  // times the longest of those remembered
inline constexpr std::size_t kHeadsRemembered = 64;
inline constexpr std::chrono::nanoseconds kHeadAgeMax =
    std::chrono::hours(24);  // a source that claims more is not believed

// JSON and pickles. A dump of 2,000 operations, torch's default, has 60,000 values in 1 MiB.
inline constexpr std::size_t kDocumentBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kDocumentValuesMax = std::size_t{4} << 20;
inline constexpr std::size_t kDocumentDepthMax = 64;
inline constexpr std::size_t kPickleStackMax = std::size_t{1} << 20;
inline constexpr std::size_t kPickleMemoMax = std::size_t{1} << 20;

// Of a dump of the Flight Recorder. A pickle may name one long text many times: what is copied out
// of it is counted, in bytes.
inline constexpr std::size_t kFlightEntriesMax = 100'000;
inline constexpr std::size_t kFlightGroupsMax = 16'384;
inline constexpr std::size_t kFlightCopiedMax = std::size_t{256} << 20;
inline constexpr std::size_t kFlightMembersMax = 64;  // of the dictionary of an entry
inline constexpr std::size_t kFlightTextMax = 1024;  // longer names are no names
inline constexpr std::size_t kFlightTensorsMax = 1024;  // of one operation
inline constexpr std::size_t kFlightDimensionsMax = 64;
inline constexpr std::size_t kFlightFramesMax = 64;
// Of one communicator, what a snapshot takes over: the oldest that are pending, the newest others.
inline constexpr std::size_t kFlightPendingMax = 1024;
inline constexpr std::size_t kFlightRecentMax = 1024;
inline constexpr std::size_t kFlightTimingsMax = 256;

// Of a report of NCCL's RAS. Its text names at most a quarter of the ranks, ten where it is short.
inline constexpr std::size_t kRasCommunicatorsMax = 65'536;
inline constexpr std::size_t kRasRanksMax = std::size_t{1} << 20;  // of all communicators
inline constexpr std::size_t kRasTextRanksMax = 4096;
inline constexpr std::size_t kRasFunctionsMax = 32;
inline constexpr std::size_t kRasTextMax = 256;  // of an address or a version
inline constexpr std::size_t kRasLineMax = 1024;
inline constexpr std::size_t kRasTextFunctionsMax = 1024;  // whose counts differ
inline constexpr std::size_t kRasNotesMax = 64;

// What a record may claim; beyond that it is nonsense and left out.
inline constexpr std::uint32_t kMembersMax = 1U << 20U;  // of a communicator
inline constexpr std::uint64_t kOrdinalMax = 1ULL << 40U;  // what a signature has room for
inline constexpr std::uint32_t kFlowStepsMax = 1U << 20U;  // what the plugin's handles tell apart
inline constexpr std::uint32_t kChannelsMax = 64;  // MAXCHANNELS of NCCL

}  // namespace robustrun::tracer
