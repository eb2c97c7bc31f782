#pragma once
// Limits of topo/: how large a described cluster or job may be.

#include <cstddef>
#include <cstdint>

namespace robustrun::topo {

constexpr std::size_t kNodesMax = 131'072;
constexpr std::size_t kSwitchesMax = 65'536;  // on all levels together
constexpr std::size_t kLevelsMax = 16;
constexpr std::size_t kNameBytesMax = 255;
constexpr std::size_t kTextBytesMax = std::size_t{64} << 20;  // of one description
constexpr std::uint32_t kRanksMax = 2'000'000;
constexpr std::uint32_t kParallelMax = 1'000'000;  // each of tp, cp, ep, dp and pp

// The solver's effort. No limit is a time, so results are the same on every machine. The search by
// exchanges is left out above kExchangePlacesMax places, the exhaustive search above
// kExactPlacesMax, and the sharper lower bound above kCrossingPlacesMax.
constexpr std::uint32_t kExchangePlacesMax = 256;
constexpr std::uint64_t kExchangeStepsPerPlace = 100;
constexpr std::uint64_t kExchangeStepsMax = 20'000;
constexpr std::uint32_t kCrossingPlacesMax = 256;
constexpr std::uint32_t kStridesMax = 16;
constexpr std::uint32_t kExactPlacesMax = 16;
constexpr std::uint64_t kExactStepsMax = 2'000'000;
// Only so many spares are chosen by their worth; further ones are taken in the order of the nodes.
constexpr std::uint32_t kSparesWeighed = 16;
// choose_keepers() has a matrix of bits, places × places, for each kind of set: 32 MiB each at this
// limit.
constexpr std::size_t kBackupPlacesMax = 16'384;
// how many switches with room for the whole job are tried
constexpr std::size_t kWholeTriesMax = 32;

}  // namespace robustrun::topo
