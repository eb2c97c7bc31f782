#pragma once
// Identities in a run: a certificate authority per run, and a certificate per agent and generation
// (docs/nodes.md, "Security of the control channel").
//
// All keys are P-256. A certificate names its holder by one URI in its subject alternative name
// (SAN):
//   robustrun://RUN/supervisor    robustrun://RUN/node/NODE/GENERATION
// A certificate is valid for ten years, and from one day before its issue, because clocks of hosts
// differ. Agents never send their private keys, only certificate requests.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/ids.h"
#include "base/core/result.h"

namespace robustrun::wire {

struct PeerName {
  std::string run_id;
  bool supervisor = false;
  base::NodeId node;              // agents only
  base::Generation generation;    // agents only
  bool operator==(const PeerName&) const = default;
};

[[nodiscard]] std::string to_uri(const PeerName& name);
[[nodiscard]] std::optional<PeerName> parse_uri(std::string_view uri);

// A private key, its certificate, and the authority that its holder trusts. PEM.
struct Identity {
  std::string private_key;
  std::string certificate;
  std::string authority;    // the CA's certificate
};

struct KeyRequest {
  std::string private_key;  // PEM, kept secret
  std::string request;      // PEM of the PKCS #10 request, to be sent
};
[[nodiscard]] base::Result<KeyRequest> make_key_request();

// The certificate authority (CA) of one run. Its private key is in this object and, for `robustrun
// resume`, in the run directory (mode 0600).
class Authority {
 public:
  static base::Result<Authority> make(const std::string& run_id);
  static base::Result<Authority> from_pem(const std::string& run_id, const std::string& pem);
  [[nodiscard]] std::string to_pem() const;  // private key and certificate: a secret

  [[nodiscard]] base::Result<Identity> issue_supervisor() const;
  // Issues the certificate (PEM) for a request. `holder` must be of this run. kProtocol: the key is
  // not P-256, or the signature is invalid.
  [[nodiscard]] base::Result<std::string> sign(const std::string& request,
                                               const PeerName& holder) const;
  [[nodiscard]] const std::string& run_id() const { return run_id_; }
  [[nodiscard]] const std::string& certificate() const { return certificate_; }
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }  // 32 raw bytes

 private:
  struct Keys;  // parsed once, because parsing PEM costs more than signing
  Authority() = default;
  std::string run_id_;
  std::string private_key_;
  std::string certificate_;
  std::string fingerprint_;
  std::shared_ptr<const Keys> keys_;
};

// SHA-256 of a CA's certificate (PEM), as Authority::fingerprint().
[[nodiscard]] base::Result<std::string> authority_fingerprint(const std::string& certificate);

// 32 bytes from the kernel's random source.
[[nodiscard]] std::string make_token();

}  // namespace robustrun::wire
