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

// The solver's effort. No limit is a time, so results are the same everywhere. With more places
// than kExchangePlacesMax the search by exchanges is left out, with more than kExactPlacesMax the
// exhaustive search, and with more than kCrossingPlacesMax the sharper lower bound.
constexpr std::uint32_t kExchangePlacesMax = 256;
constexpr std::uint64_t kExchangeStepsPerPlace = 100;
constexpr std::uint64_t kExchangeStepsMax = 20'000;
constexpr std::uint32_t kCrossingPlacesMax = 256;
constexpr std::uint32_t kStridesMax = 16;
constexpr std::uint32_t kExactPlacesMax = 16;
constexpr std::uint64_t kExactStepsMax = 2'000'000;
// Spares beyond this number are taken in the order of the nodes, unweighed.
constexpr std::uint32_t kSparesWeighed = 16;
// choose_keepers: for each kind of set it has a matrix of bits, places × places: 32 MiB each at
// this limit.
constexpr std::size_t kBackupPlacesMax = 16'384;
constexpr std::size_t kWholeTriesMax = 32;  // switches that hold the whole job and are searched

}  // namespace robustrun::topo
