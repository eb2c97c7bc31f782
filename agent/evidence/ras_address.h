#pragma once
// Where NCCL's RAS (ras_client.h) listens on this machine, from NCCL_RAS_ADDR. Pure.

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

// Parses "host:port" or "[address]:port" as NCCL does; an empty `text` means NCCL's default.
// `local`: the addresses of this machine. nullopt: malformed, a name other than localhost, or not
// an address of this machine.
[[nodiscard]] std::optional<RasAddress> read_ras_address(std::string_view text,
                                                         const std::vector<std::string>& local);

// The value of NCCL_RAS_ADDR for the agent's workers. Its address is numeric, because localhost may
// be an IPv4 or an IPv6 address, depending on the machine's resolver.
[[nodiscard]] std::string ras_address_text(std::uint16_t port);

}  // namespace robustrun::agent
