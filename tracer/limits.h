#pragma once
// Bounds of the tracer. Bounds of its analysis are in analysis/limits.h.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::tracer {

// How many times in a row a record is read if its worker writes during each read.
inline constexpr int kReadAttemptsMax = 3;

// head_watch: the time allowed for an operation is kHeadFactor times that of the longest remembered
// one, and at least kHeadMax. For the first kHeadsFirst operations, and before the rank's first
// step, it is at least kHeadFirstMax.
inline constexpr std::chrono::seconds kHeadMax{2};
inline constexpr std::chrono::seconds kHeadFirstMax{10};
inline constexpr std::uint64_t kHeadsFirst = 3;
inline constexpr int kHeadFactor = 4;
inline constexpr std::size_t kHeadsRemembered = 64;
inline constexpr std::chrono::nanoseconds kHeadAgeMax =
    std::chrono::hours(24);  // ages beyond this are clamped

// traffic_watch: the length of a window, the windows of the history, and when traffic has fallen.
inline constexpr std::chrono::seconds kTrafficWindow{3};
inline constexpr std::size_t kTrafficWindowsToLearn = 4;
inline constexpr std::size_t kTrafficWindowsKept = 32;
inline constexpr std::uint64_t kTrafficCountLeast = 3;  // collectives in a window
inline constexpr double kTrafficFallen = 1.5;  // times the usual time per byte
inline constexpr std::size_t kTrafficRowsMax = 2048;  // of each kind: rates, edges

// JSON and pickles. A dump of 2,000 operations, torch's default, has 60,000 values in 1 MiB.
inline constexpr std::size_t kDocumentBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kDocumentValuesMax = std::size_t{4} << 20;
inline constexpr std::size_t kDocumentDepthMax = 64;
inline constexpr std::size_t kPickleStackMax = std::size_t{1} << 20;
inline constexpr std::size_t kPickleMemoMax = std::size_t{1} << 20;

// A Flight Recorder dump. A pickle may refer to one long text many times, so the bytes copied out
// of it are counted.
inline constexpr std::size_t kFlightEntriesMax = 100'000;
inline constexpr std::size_t kFlightGroupsMax = 16'384;
inline constexpr std::size_t kFlightCopiedMax = std::size_t{256} << 20;
inline constexpr std::size_t kFlightMembersMax = 64;  // in the dictionary of an entry
inline constexpr std::size_t kFlightTextMax = 1024;  // longer texts are ignored
inline constexpr std::size_t kFlightTensorsMax = 1024;  // of one operation
inline constexpr std::size_t kFlightDimensionsMax = 64;
inline constexpr std::size_t kFlightFramesMax = 64;
// What a snapshot takes over per communicator: the oldest pending operations, the newest others.
inline constexpr std::size_t kFlightPendingMax = 1024;
inline constexpr std::size_t kFlightRecentMax = 1024;
inline constexpr std::size_t kFlightTimingsMax = 256;

// A report of NCCL's RAS. The text form names at most a quarter of the ranks; the short text form
// at most ten.
inline constexpr std::size_t kRasCommunicatorsMax = 65'536;
inline constexpr std::size_t kRasRanksMax = std::size_t{1} << 20;  // of all communicators
inline constexpr std::size_t kRasTextRanksMax = 4096;
inline constexpr std::size_t kRasFunctionsMax = 32;
inline constexpr std::size_t kRasTextMax = 256;  // an address or a version
inline constexpr std::size_t kRasLineMax = 1024;
inline constexpr std::size_t kRasTextFunctionsMax = 1024;  // functions whose counts differ
inline constexpr std::size_t kRasNotesMax = 64;

// Largest plausible values in a record; rows beyond them are dropped.
inline constexpr std::uint32_t kMembersMax = 1U << 20U;  // of a communicator
inline constexpr std::uint64_t kOrdinalMax = 1ULL << 40U;  // limit of RecordSignature
inline constexpr std::uint32_t kFlowStepsMax = 1U << 20U;  // limit of the plugin's handles
inline constexpr std::uint32_t kChannelsMax = 64;  // MAXCHANNELS of NCCL

}  // namespace robustrun::tracer
