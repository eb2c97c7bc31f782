#pragma once
// The version of the protocol between supervisor and agent, sent in Hello and Welcome.
//
// Either side closes the connection if it does not support the other side's version.
// docs/formats/wire.md lists the changes that need no new version.

#include <cstdint>

namespace robustrun::wire {

inline constexpr std::uint32_t kProtocolVersion = 1;

}  // namespace robustrun::wire
