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
  std::vector<std::string> hosts;  // numeric; it listens on one of them
  std::uint16_t port = 0;
};

// "host:port" or "[address]:port", as NCCL reads it; empty: its default. nullopt: neither, or not
// on this machine, whose addresses are `local`. A name other than localhost is not looked up.
[[nodiscard]] std::optional<RasAddress> read_ras_address(std::string_view text,
                                                         const std::vector<std::string>& local);

// What our workers get. An address, since NCCL would take localhost for the one of IPv6 or of IPv4,
// whichever the machine's resolver names first.
[[nodiscard]] std::string ras_address_text(std::uint16_t port);

}  // namespace robustrun::agent
