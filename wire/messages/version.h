#pragma once
// The version of the protocol between supervisor and agent, sent in Hello and Welcome.
//
// Either side closes the connection on a version that it does not support; docs/formats/wire.md
// lists what may change without a new version.

#include <cstdint>

namespace robustrun::wire {

inline constexpr std::uint32_t kProtocolVersion = 1;

}  // namespace robustrun::wire
