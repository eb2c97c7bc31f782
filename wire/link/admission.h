#pragma once
// The supervisor's side of an enrolment: checks the agent's proof, issues the certificate and adds
// our own proof. Private to wire/; no I/O but that of `decide` and munge.

#include <functional>
#include <string>
#include <utility>

#include "base/core/result.h"
#include "wire/messages/enrolment.h"
#include "wire/tls/identity.h"

namespace robustrun::wire {

class Admission {
 public:
  // `server_certificate`: SHA-256 of the certificate that our listener shows.
  Admission(Authority authority, std::string secret, MungeProofs munge,
            std::string server_certificate)
      : authority_(std::move(authority)),
        secret_(std::move(secret)),
        munge_(std::move(munge)),
        server_certificate_(std::move(server_certificate)) {}

  [[nodiscard]] const std::string& run_id() const { return authority_.run_id(); }
  // `decide` is called once the proof is verified, and returns the name for the certificate or an
  // error that refuses the agent.
  [[nodiscard]] base::Result<Enrolled> enrol(
      const Enrol& enrol, const std::function<base::Result<PeerName>(const Enrol&)>& decide) const;

 private:
  [[nodiscard]] base::Status check(const Enrol& enrol) const;
  [[nodiscard]] base::Status check_proof(const Enrol& enrol) const;

  Authority authority_;
  std::string secret_;
  MungeProofs munge_;
  std::string server_certificate_;
};

// kProtocol unless `theirs` is our version. `peer`: "agent" or "supervisor", for the text.
[[nodiscard]] base::Status check_protocol(std::uint32_t theirs, const char* peer);

}  // namespace robustrun::wire
