#pragma once
// How two agents of one run authenticate each other when one calls the other during a preflight
// check: both know a nonce that only their supervisor can have given them, and neither sends it.
//
//   caller → PeerCall      caller, callee, purpose, challenge 1                        (33 bytes)
//   callee → PeerAnswer    challenge 2, HMAC(nonce, "answer" ‖ PeerCall ‖ challenge 2) (48 bytes)
//   caller → proof         HMAC(nonce, "caller" ‖ PeerCall ‖ challenge 2)              (32 bytes)
// The call names the callee, and the answer's HMAC covers the call. A machine that is called by
// mistake, because it has the callee's address, sees that it is not the callee and hangs up. These
// connections carry no secret of the run, so they need no key exchange. No I/O except for random
// bytes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/ids.h"

namespace robustrun::wire {

// Whether the caller only tests that it can reach the callee, or also exchanges data.
enum class PeerPurpose : std::uint8_t { kReach, kExchange };

inline constexpr std::size_t kPeerCallBytes = 33;
inline constexpr std::size_t kPeerAnswerBytes = 48;
inline constexpr std::size_t kPeerProofBytes = 32;

struct PeerCall {
  PeerPurpose purpose = PeerPurpose::kReach;
  base::NodeId caller;
  base::NodeId callee;
};

// Makes the bytes of a call, with a fresh challenge.
[[nodiscard]] std::string make_peer_call(const PeerCall& call);
// nullopt when `bytes`, of size kPeerCallBytes, is not a call.
[[nodiscard]] std::optional<PeerCall> read_peer_call(std::string_view bytes);

[[nodiscard]] std::string make_peer_answer(const std::string& nonce, const std::string& call);
[[nodiscard]] bool is_peer_answer(const std::string& nonce, const std::string& call,
                                  const std::string& answer);

[[nodiscard]] std::string make_peer_proof(const std::string& nonce, const std::string& call,
                                          const std::string& answer);

// For a supervisor: makes an unpredictable nonce.
[[nodiscard]] std::string make_peer_nonce();

}  // namespace robustrun::wire
