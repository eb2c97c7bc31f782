#pragma once
// All limits of the folder probe/.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::probe {

// tests

// For one test, including its start-up; a test that takes longer is killed.
inline constexpr std::chrono::seconds kTestMax{60};
inline constexpr std::chrono::seconds kWaitMax{20};  // for the GPUs to finish work

inline constexpr std::chrono::seconds kMeasureTime{2};  // per figure
inline constexpr int kLaunchesAtOnce = 10;  // launches between two readings of the clock
inline constexpr std::size_t kCopyBytes = std::size_t{1} << 30;
inline constexpr int kGemmSize = 8192;  // rows and columns of a matrix
inline constexpr int kRepeatSize = 4096;  // rows and columns of a matrix
inline constexpr std::chrono::seconds kRepeatTime{8};  // per number format
inline constexpr std::size_t kExchangeBytes = std::size_t{64} << 20;  // bytes that each GPU sends

// result: of one test
inline constexpr std::size_t kResultBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kGpusMax = 64;
inline constexpr std::size_t kFiguresMax = 512;
inline constexpr std::size_t kSumsMax = 128;
inline constexpr std::size_t kFaultsMax = 64;
inline constexpr std::size_t kTextBytesMax = 300;

}  // namespace robustrun::probe
