#pragma once
// The first exchange of an agent without a certificate: key request in, certificate out.
//
//   agent → Enrol     csr, nonce, proof = HMAC-SHA256(secret, "agent" ‖ fields ‖ server cert)
//   supervisor → Enrolled   certificate, CA, proof = HMAC-SHA256(secret, "supervisor" ‖ …)
// ‖ means concatenation. Both sides prove that they know the secret without sending it. The agent's
// proof covers the SHA-256 of the server certificate that it saw, so that a host in between cannot
// pass the proof on. Afterwards the agent connects again with its own certificate. With munge, each
// proof is a munge credential whose payload is the SHA-256 of the same bytes. With --insecure-rdzv,
// proofs are empty. Pure.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "wire/messages/version.h"

namespace robustrun::wire {

enum class ProofKind : std::uint8_t { kNone, kSecret, kMunge };

struct Enrol {
  std::uint32_t protocol = kProtocolVersion;
  std::string run_id;
  std::optional<base::NodeId> node;  // none: a machine that joins by itself (rendezvous)
  base::Generation generation;
  std::string host;  // the agent's host name, for people
  std::uint32_t slots = 0;  // workers that the node offers (rendezvous); 0: the supervisor decides
  std::optional<std::uint32_t> node_rank;  // --node-rank, if given
  std::int32_t pid = 0;
  std::string request;  // PEM of the PKCS #10 request
  std::string nonce;  // 16 bytes or more
  ProofKind proof_kind = ProofKind::kSecret;
  std::string proof;
  // SHA-256 of script and arguments, which must be the same for all agents
  std::string command_digest;
  template <class V>
  void fields(V& v) {
    v(1, "protocol", protocol);
    v(2, "run_id", run_id);
    v(3, "node", node);
    v(4, "generation", generation);
    v(5, "host", host);
    v(6, "slots", slots);
    v(7, "node_rank", node_rank);
    v(8, "pid", pid);
    v(9, "request", request);
    v(10, "nonce", nonce);
    v(11, "proof_kind", proof_kind);
    v(12, "proof", proof);
    v(13, "command_digest", command_digest);
  }
};

struct Enrolled {
  base::NodeId node;
  base::Generation generation;
  std::string certificate;  // PEM
  std::string authority;  // PEM of the CA's certificate
  std::string proof;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "generation", generation);
    v(3, "certificate", certificate);
    v(4, "authority", authority);
    v(5, "proof", proof);
  }
};

// Supervisor to agent, before it ends the connection. `text`: for people. `final`: a retry is
// useless.
struct Refused {
  std::string text;
  bool final = true;
  template <class V>
  void fields(V& v) {
    v(1, "text", text);
    v(2, "final", final);
  }
};

// Proofs by munge. `make` makes a credential with `digest` as its payload. `check` verifies that
// `proof` is a credential of our own user with that payload.
struct MungeProofs {
  std::function<base::Result<std::string>(const std::string& digest)> make;
  std::function<base::Status(const std::string& proof, const std::string& digest)> check;
};

// `server_certificate`: SHA-256 of the certificate's DER form (32 raw bytes). The proofs are raw
// bytes.
[[nodiscard]] std::string agent_proof(const std::string& secret, const Enrol& enrol,
                                      const std::string& server_certificate);
[[nodiscard]] std::string supervisor_proof(const std::string& secret, const Enrol& enrol,
                                           const Enrolled& enrolled);
// SHA-256 of the bytes that agent_proof() and supervisor_proof() cover: the payload for munge.
[[nodiscard]] std::string agent_digest(const Enrol& enrol, const std::string& server_certificate);
[[nodiscard]] std::string supervisor_digest(const Enrol& enrol, const Enrolled& enrolled);
// Compares in constant time.
[[nodiscard]] bool same_proof(const std::string& a, const std::string& b);

}  // namespace robustrun::wire
