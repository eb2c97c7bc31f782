#include "wire/link/admission.h"

#include "base/core/text.h"
#include "wire/messages/limits.h"

namespace robustrun::wire {
namespace {

using base::Errc;
using base::fail;

constexpr std::size_t kShownRunIdBytes = 64;

}  // namespace

base::Status check_protocol(std::uint32_t theirs, const char* peer) {
  if (theirs == kProtocolVersion) return {};
  return fail(Errc::kProtocol, std::string("cannot work together: the ") + peer +
                                   " speaks protocol " + std::to_string(theirs) +
                                   ", this robustrun protocol " + std::to_string(kProtocolVersion) +
                                   "; install the same robustrun everywhere");
}

base::Status Admission::check_proof(const Enrol& enrol) const {
  switch (enrol.proof_kind) {
    case ProofKind::kSecret:
      if (!secret_.empty() &&
          same_proof(enrol.proof, agent_proof(secret_, enrol, server_certificate_))) {
        return {};
      }
      return fail(Errc::kPermission,
                  "cannot enrol: the secret is not this run's; start all nodes with the same one");
    case ProofKind::kMunge:
      if (!munge_.check || !munge_.make) {
        return fail(Errc::kPermission, "cannot enrol: this run does not use munge");
      }
      return munge_.check(enrol.proof, agent_digest(enrol, server_certificate_));
    case ProofKind::kNone:
      if (secret_.empty() && !munge_.check) return {};
      return fail(Errc::kPermission,
                  "cannot enrol: this run requires a proof, and the agent has no secret");
  }
  return fail(Errc::kProtocol, "cannot enrol: that kind of proof is unknown");
}

base::Status Admission::check(const Enrol& enrol) const {
  if (auto same = check_protocol(enrol.protocol, "agent"); !same) return same;
  if (enrol.run_id != run_id()) {
    return fail(Errc::kPermission, "cannot enrol: run '" +
                                       base::printable(enrol.run_id.substr(0, kShownRunIdBytes)) +
                                       "' is not the one that listens here");
  }
  if (enrol.nonce.size() < kNonceBytesMin) {
    return fail(Errc::kProtocol, "cannot enrol: the nonce is too short");
  }
  return check_proof(enrol);
}

base::Result<Enrolled> Admission::enrol(
    const Enrol& enrol, const std::function<base::Result<PeerName>(const Enrol&)>& decide) const {
  if (auto good = check(enrol); !good) return std::unexpected(std::move(good).error());
  PeerName name = RR_TRY(decide(enrol));
  name.run_id = run_id();
  Enrolled enrolled;
  enrolled.node = name.node;
  enrolled.generation = name.generation;
  enrolled.certificate = RR_TRY(authority_.sign(enrol.request, name));
  enrolled.authority = authority_.certificate();
  if (enrol.proof_kind == ProofKind::kSecret) {
    enrolled.proof = supervisor_proof(secret_, enrol, enrolled);
  } else if (enrol.proof_kind == ProofKind::kMunge) {
    enrolled.proof = RR_TRY(munge_.make(supervisor_digest(enrol, enrolled)));
  }
  return enrolled;
}

}  // namespace robustrun::wire
