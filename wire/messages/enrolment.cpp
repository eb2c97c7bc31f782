#include "wire/messages/enrolment.h"

#include <openssl/crypto.h>

#include "wire/messages/field_codec.h"
#include "wire/messages/openssl_values.h"

namespace robustrun::wire {
namespace {

// The bytes that a proof covers: the message without its proof, then what both sides must agree on
// (each of fixed length, so that the whole has only one reading).
std::string agent_bytes(const Enrol& enrol, const std::string& server_certificate) {
  Enrol bare = enrol;
  bare.proof.clear();
  return "agent" + encode(bare) + server_certificate;
}

std::string supervisor_bytes(const Enrol& enrol, const Enrolled& enrolled) {
  Enrolled bare = enrolled;
  bare.proof.clear();
  return "supervisor" + encode(bare) + sha256(encode(enrol));
}

}  // namespace

std::string agent_proof(const std::string& secret, const Enrol& enrol,
                        const std::string& server_certificate) {
  return hmac(secret, agent_bytes(enrol, server_certificate));
}

std::string supervisor_proof(const std::string& secret, const Enrol& enrol,
                             const Enrolled& enrolled) {
  return hmac(secret, supervisor_bytes(enrol, enrolled));
}

std::string agent_digest(const Enrol& enrol, const std::string& server_certificate) {
  return sha256(agent_bytes(enrol, server_certificate));
}

std::string supervisor_digest(const Enrol& enrol, const Enrolled& enrolled) {
  return sha256(supervisor_bytes(enrol, enrolled));
}

bool same_proof(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace robustrun::wire
