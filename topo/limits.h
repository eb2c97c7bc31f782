#pragma once
// Bounds of topo/: what a description of a cluster or of a job may ask for.

#include <cstddef>
#include <cstdint>

namespace robustrun::topo {

constexpr std::size_t kNodesMax = 131'072;
constexpr std::size_t kSwitchesMax = 65'536;  // of all levels
constexpr std::size_t kLevelsMax = 16;
constexpr std::size_t kNameBytesMax = 255;
constexpr std::size_t kTextBytesMax = std::size_t{64} << 20;  // of a description
constexpr std::uint32_t kRanksMax = 2'000'000;
constexpr std::uint32_t kParallelMax = 1'000'000;  // one size

// How long the solver looks, counted in steps, not in time: the same everywhere.
constexpr std::uint32_t kExchangePlacesMax = 256;
constexpr std::uint64_t kExchangeStepsPerPlace = 100;
constexpr std::uint64_t kExchangeStepsMax = 20'000;
constexpr std::uint32_t kCrossingPlacesMax = 256;
constexpr std::uint32_t kStridesMax = 16;
constexpr std::uint32_t kExactPlacesMax = 16;
constexpr std::uint64_t kExactStepsMax = 2'000'000;
constexpr std::uint32_t kSparesWeighed = 16;  // more of them follow in the order of the nodes
// choose_keepers: a square of so many bits, 32 MiB of each kind of sets.
constexpr std::size_t kBackupPlacesMax = 16'384;
constexpr std::size_t kWholeTriesMax = 32;  // switches that hold the whole job, each looked into

}  // namespace robustrun::topo
