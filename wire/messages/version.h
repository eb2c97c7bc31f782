#pragma once
// The version of the protocol between supervisor and agent, said in Hello and Welcome.
//
// Either side hangs up on a version that it cannot speak; what may change without a new one is
// written down in docs/formats/wire.md.

#include <cstdint>

namespace robustrun::wire {

inline constexpr std::uint32_t kProtocolVersion = 1;

}  // namespace robustrun::wire
