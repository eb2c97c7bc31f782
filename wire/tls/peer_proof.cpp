#include "wire/tls/peer_proof.h"

#include "base/core/result.h"
#include "wire/messages/enrolment.h"
#include "wire/messages/limits.h"
#include "wire/messages/openssl_values.h"

namespace robustrun::wire {
namespace {

constexpr std::string_view kMagic = "RRPEER1\n";
constexpr std::size_t kChallengeBytes = 16;
constexpr std::size_t kIdBytes = 4;
static_assert(kMagic.size() + 1 + 2 * kIdBytes + kChallengeBytes == kPeerCallBytes);

void put_id(std::string& out, base::NodeId node) {
  for (std::size_t i = 0; i < kIdBytes; ++i) {
    out += static_cast<char>(node.value >> (8 * i) & 0xFF);
  }
}

base::NodeId read_id(std::string_view bytes) {
  base::NodeId node;
  for (std::size_t i = 0; i < kIdBytes; ++i) {
    node.value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return node;
}

std::string challenge_of(const std::string& answer) { return answer.substr(0, kChallengeBytes); }

}  // namespace

std::string make_peer_call(const PeerCall& call) {
  std::string bytes(kMagic);
  bytes += static_cast<char>(call.purpose);
  put_id(bytes, call.caller);
  put_id(bytes, call.callee);
  return bytes + random_bytes(kChallengeBytes);
}

std::optional<PeerCall> read_peer_call(std::string_view bytes) {
  if (bytes.size() != kPeerCallBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  const auto purpose = static_cast<PeerPurpose>(bytes[0]);
  if (purpose != PeerPurpose::kReach && purpose != PeerPurpose::kExchange) return std::nullopt;
  return PeerCall{purpose, read_id(bytes.substr(1)), read_id(bytes.substr(1 + kIdBytes))};
}

std::string make_peer_answer(const std::string& nonce, const std::string& call) {
  const std::string challenge = random_bytes(kChallengeBytes);
  return challenge + hmac(nonce, "answer" + call + challenge);
}

bool is_peer_answer(const std::string& nonce, const std::string& call, const std::string& answer) {
  const std::string challenge = challenge_of(answer);
  return same_proof(answer, challenge + hmac(nonce, "answer" + call + challenge));
}

std::string make_peer_proof(const std::string& nonce, const std::string& call,
                            const std::string& answer) {
  return hmac(nonce, "caller" + call + challenge_of(answer));
}

std::string make_peer_nonce() { return random_bytes(kPeerNonceBytes); }

}  // namespace robustrun::wire
