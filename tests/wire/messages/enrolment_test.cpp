#include "wire/messages/enrolment.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/wire/examples.h"
#include "wire/link/admission.h"

namespace enrolment_test {

using namespace robustrun::wire;
using robustrun::base::Errc;
using robustrun::base::fail;
using robustrun::base::Result;
using robustrun::base::Status;
using robustrun::test::example_enrol;
using robustrun::test::example_enrolled;

namespace {

const std::string kServer(32, 's');
const std::string kSecret = "of 32 bytes";

MungeProofs munge() {
  return {
      .make = [](const std::string& digest) -> Result<std::string> { return "MUNGE:" + digest; },
      .check = [](const std::string& proof, const std::string& digest) -> Status {
        if (proof == "MUNGE:" + digest) return {};
        return fail(Errc::kPermission, "cannot enrol: not our user");
      }};
}

// An Admission to run-1 with a scripted decision.
struct Server {
  Authority authority = Authority::make("run-1").value();
  std::string secret = kSecret;
  MungeProofs proofs;
  int asked = 0;

  Result<Enrolled> ask(const Enrol& enrol) {
    const Admission admission(authority, secret, proofs, kServer);
    return admission.enrol(enrol, [this](const Enrol& proven) -> Result<PeerName> {
      ++asked;
      if (proven.generation.value == 9) {
        return fail(Errc::kPermission, "cannot enrol: a newer agent was started");
      }
      return PeerName{.run_id = {},
                      .supervisor = false,
                      .node = proven.node.value_or(robustrun::base::NodeId{7}),
                      .generation = proven.generation};
    });
  }
};

Enrol enrol(ProofKind kind = ProofKind::kSecret) {
  Enrol made = example_enrol();
  made.request = make_key_request().value().request;
  made.proof_kind = kind;
  made.proof = kind == ProofKind::kSecret ? agent_proof(kSecret, made, kServer) : std::string();
  if (kind == ProofKind::kMunge) made.proof = munge().make(agent_digest(made, kServer)).value();
  return made;
}

}  // namespace

TEST_CASE("a proof depends on the secret, on every member, and on the server's certificate") {
  const Enrol base = example_enrol();
  std::set<std::string> proofs;
  const auto add = [&](auto change) {
    Enrol changed = base;
    change(changed);
    proofs.insert(agent_proof("secret", changed, kServer));
  };
  add([](Enrol&) {});
  add([](Enrol& e) { e.run_id = "run-2"; });
  add([](Enrol& e) { e.node.reset(); });
  add([](Enrol& e) { e.node->value = 0; });
  add([](Enrol& e) { e.generation.value = 4; });
  add([](Enrol& e) { e.host += "x"; });
  add([](Enrol& e) { e.request += "x"; });
  add([](Enrol& e) { e.nonce += "x"; });
  add([](Enrol& e) { e.proof_kind = ProofKind::kNone; });
  add([](Enrol& e) { e.command_digest.clear(); });
  CHECK(proofs.size() == 10);
  add([](Enrol& e) { e.proof = "not part of it"; });
  CHECK(proofs.size() == 10);
  proofs.insert(agent_proof("other", base, kServer));
  proofs.insert(agent_proof("secret", base, std::string(32, 'x')));
  proofs.insert(supervisor_proof("secret", base, example_enrolled()));
  Enrolled other = example_enrolled();
  other.authority += "x";
  proofs.insert(supervisor_proof("secret", base, other));
  Enrol replayed = base;
  replayed.proof += "x";  // the agent's proof stands for the connection
  proofs.insert(supervisor_proof("secret", replayed, example_enrolled()));
  CHECK(proofs.size() == 15);
}

TEST_CASE("proofs are compared whole") {
  CHECK(same_proof("", ""));
  CHECK(same_proof("abc", "abc"));
  CHECK_FALSE(same_proof("abc", "abd"));
  CHECK_FALSE(same_proof("abc", "abcd"));
  CHECK_FALSE(same_proof("abc", ""));
}

TEST_CASE("a good proof gets a certificate of this run, with the supervisor's proof") {
  Server server;
  const Enrol asked = enrol();
  const auto enrolled = server.ask(asked);
  REQUIRE(enrolled);
  CHECK(enrolled->node.value == 2);
  CHECK(enrolled->generation.value == 3);
  CHECK(enrolled->authority == server.authority.certificate());
  CHECK(enrolled->proof == supervisor_proof(kSecret, asked, *enrolled));
}

TEST_CASE("a wrong secret, run, nonce or request is refused before the decision") {
  Server server;
  Enrol wrong = enrol();
  wrong.proof = agent_proof("other", wrong, kServer);
  CHECK(server.ask(wrong).error().code == Errc::kPermission);
  wrong = enrol();
  wrong.proof = agent_proof(kSecret, wrong, std::string(32, 'x'));  // made for another server
  CHECK(server.ask(wrong).error().code == Errc::kPermission);
  wrong = enrol();
  wrong.proof.clear();
  CHECK(server.ask(wrong).error().code == Errc::kPermission);
  wrong = enrol();
  wrong.run_id = "run-2";
  CHECK(server.ask(wrong).error().code == Errc::kPermission);
  wrong = enrol();
  wrong.nonce = "short";
  wrong.proof = agent_proof(kSecret, wrong, kServer);
  CHECK(server.ask(wrong).error().code == Errc::kProtocol);
  CHECK(server.asked == 0);
  wrong = enrol();
  wrong.request = "garbage";
  wrong.proof = agent_proof(kSecret, wrong, kServer);
  CHECK(server.ask(wrong).error().code == Errc::kCorrupt);
}

TEST_CASE("another protocol version is refused in words that name both") {
  Server server;
  Enrol other = enrol();
  other.protocol = 77;
  const auto refused = server.ask(other);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("protocol 77") != std::string::npos);
  CHECK(refused.error().what.find("protocol " + std::to_string(kProtocolVersion)) !=
        std::string::npos);
  CHECK(refused.error().what.find("install the same robustrun everywhere") != std::string::npos);
}

TEST_CASE("the agent gets the caller's decision") {
  Server server;
  Enrol late = enrol();
  late.generation.value = 9;
  late.proof = agent_proof(kSecret, late, kServer);
  CHECK(server.ask(late).error().what == "cannot enrol: a newer agent was started");
  Enrol joining = enrol();
  joining.node.reset();
  joining.proof = agent_proof(kSecret, joining, kServer);
  CHECK(server.ask(joining).value().node.value == 7);
}

TEST_CASE("without a proof no agent is admitted, unless the run has neither secret nor munge") {
  Server server;
  CHECK(server.ask(enrol(ProofKind::kNone)).error().code == Errc::kPermission);
  server.secret.clear();
  CHECK(server.ask(enrol(ProofKind::kNone)).value().proof.empty());
  server.proofs = munge();
  CHECK(server.ask(enrol(ProofKind::kNone)).error().code == Errc::kPermission);
  // An empty secret proves nothing.
  Enrol empty = enrol();
  empty.proof = agent_proof("", empty, kServer);
  CHECK(server.ask(empty).error().code == Errc::kPermission);
}

TEST_CASE("munge proves both sides if the run uses it") {
  Server server;
  CHECK(server.ask(enrol(ProofKind::kMunge)).error().code == Errc::kPermission);
  server.proofs = munge();
  const Enrol asked = enrol(ProofKind::kMunge);
  const auto enrolled = server.ask(asked);
  REQUIRE(enrolled);
  CHECK(munge().check(enrolled->proof, supervisor_digest(asked, *enrolled)));
  Enrol stolen = asked;
  stolen.host = "another";
  CHECK(server.ask(stolen).error().what == "cannot enrol: not our user");
}

}  // namespace enrolment_test
