#pragma once
// Limits of the watch of this machine. docs/health.md gives the same numbers.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// watch and its probes: how often the kernel's log is read, and due probes are started.
inline constexpr std::chrono::milliseconds kHealthTick{500};
// How often the probes look.
inline constexpr std::chrono::seconds kNicInterval{5};
inline constexpr std::chrono::seconds kMountInterval{10};
inline constexpr std::chrono::seconds kPressureInterval{5};
// After this time a look is reported as not answering.
inline constexpr std::chrono::seconds kHealthLookMax{5};
// New findings of one source, and as many reports that one of its findings is over.
inline constexpr unsigned kFindingsPerMinute = 20;
inline constexpr std::size_t kHealthFileBytesMax = std::size_t{256} << 10;

// kernel_log, kernel_record
inline constexpr std::size_t kKernelLineBytesMax = 8192;  // CONSOLE_EXT_LOG_MAX of the kernel
inline constexpr unsigned kKernelReadsPerLook = 1024;
// The same trouble of the same device is reported once in this time.
inline constexpr std::chrono::seconds kKernelRepeat{10};
inline constexpr std::size_t kKernelTopicsMax = 256;      // remembered to recognise repetitions

// nic_health
inline constexpr std::size_t kNicsMax = 256;
inline constexpr std::uint64_t kNicErrorsMin = 100;   // between two looks
inline constexpr std::uint64_t kNicDropsMin = 5000;   // between two looks: 1000 a second
inline constexpr unsigned kNicQuietLooks = 12;  // without errors, before they count as over

// mount_health
inline constexpr std::size_t kMountsWatchedMax = 8;
inline constexpr std::size_t kMountinfoBytesMax = std::size_t{4} << 20;

// pressure_health: per cent of the last 10 s in which all tasks stalled. This much for
// kPressureLasts is a finding.
inline constexpr double kMemoryPressureMax = 20;
inline constexpr double kProcessorPressureMax = 50;
inline constexpr std::chrono::seconds kPressureLasts{30};

// clock_health
inline constexpr std::chrono::seconds kClockJumpMin{1};

// gpu_health
inline constexpr std::chrono::seconds kGpuInterval{10};
inline constexpr std::chrono::milliseconds kGpuEventWait{1000};
inline constexpr std::chrono::seconds kGpuSilenceMax{30};  // then the helper counts as hanging
inline constexpr std::chrono::minutes kGpuHelperAgain{5};  // from a helper's end to the next one
// Within this time two sources' reports of the same error count as one.
inline constexpr std::chrono::seconds kXidEcho{10};
// Throttled clocks are reported after so many consecutive looks that find them, and are over after
// so many that do not.
inline constexpr unsigned kThrottledLooks = 2;
inline constexpr unsigned kUnthrottledLooks = 6;
// A hot GPU has cooled down at this many degrees Celsius below its slowdown threshold.
inline constexpr std::uint32_t kCooledByC = 5;
inline constexpr std::uint64_t kNvlinkErrorsMin = 100;  // between two looks

}  // namespace robustrun::agent
