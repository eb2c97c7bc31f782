#pragma once
// Where NCCL's RAS listens on this machine, from NCCL_RAS_ADDR. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::agent {

inline constexpr const char* kRasVariable = "NCCL_RAS_ADDR";

struct RasAddress {
  std::vector<std::string> hosts;  // numeric; RAS listens on one of them
  std::uint16_t port = 0;
};

// Parses "host:port" or "[address]:port" as NCCL does; empty: NCCL's default. nullopt: malformed,
// or not an address of this machine, whose addresses are `local`. Names other than localhost are
// not resolved.
[[nodiscard]] std::optional<RasAddress> read_ras_address(std::string_view text,
                                                         const std::vector<std::string>& local);

// The value for our workers. A numeric address, because NCCL would take localhost for its IPv6 or
// its IPv4 address, whichever the machine's resolver names first.
[[nodiscard]] std::string ras_address_text(std::uint16_t port);

}  // namespace robustrun::agent
