#pragma once
// Limits of what watches the machine. docs/health.md gives the same numbers.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// watch and its probes: how often each looks, and how long a look may take before the subject is
// reported as not answering.
// Between two reads of the kernel's log; due probes look then, too.
inline constexpr std::chrono::milliseconds kHealthTick{500};
inline constexpr std::chrono::seconds kNicInterval{5};
inline constexpr std::chrono::seconds kMountInterval{10};
inline constexpr std::chrono::seconds kPressureInterval{5};
inline constexpr std::chrono::seconds kHealthLookMax{5};
inline constexpr unsigned kFindingsPerMinute = 20;  // of one source; as many ends
inline constexpr std::size_t kHealthFileBytesMax = std::size_t{256} << 10;

// kernel_log, kernel_record
inline constexpr std::size_t kKernelLineBytesMax = 8192;  // CONSOLE_EXT_LOG_MAX of the kernel
inline constexpr unsigned kKernelReadsPerLook = 1024;
// The same trouble of the same device is reported once in this time.
inline constexpr std::chrono::seconds kKernelRepeat{10};
inline constexpr std::size_t kKernelTopicsMax = 256;      // remembered for that

// nic_health
inline constexpr std::size_t kNicsMax = 256;
inline constexpr std::uint64_t kNicErrorsMin = 100;   // between two looks
inline constexpr std::uint64_t kNicDropsMin = 5000;   // between two looks: 1000 a second
inline constexpr unsigned kNicQuietLooks = 12;        // then the errors are over

// mount_health
inline constexpr std::size_t kMountsWatchedMax = 8;
inline constexpr std::size_t kMountinfoBytesMax = std::size_t{4} << 20;

// pressure_health: per cent of the last 10 s in which all tasks stalled, and for how long
inline constexpr double kMemoryPressureMax = 20;
inline constexpr double kProcessorPressureMax = 50;
inline constexpr std::chrono::seconds kPressureLasts{30};

// clock_health
inline constexpr std::chrono::seconds kClockJumpMin{1};

// gpu_health
inline constexpr std::chrono::seconds kGpuInterval{10};
inline constexpr std::chrono::milliseconds kGpuEventWait{1000};
inline constexpr std::chrono::seconds kGpuSilenceMax{30};   // then the helper hangs
inline constexpr std::chrono::minutes kGpuHelperAgain{5};   // after it ended or was killed
inline constexpr std::chrono::seconds kXidEcho{10};  // the other source reports the same error
inline constexpr unsigned kThrottledLooks = 2;    // in a row, before they are reported
inline constexpr unsigned kUnthrottledLooks = 6;  // in a row, before they are over
inline constexpr std::uint32_t kCooledByC = 5;    // below the slowdown threshold
inline constexpr std::uint64_t kNvlinkErrorsMin = 100;  // between two looks

}  // namespace robustrun::agent
