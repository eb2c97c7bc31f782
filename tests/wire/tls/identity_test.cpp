#include "wire/tls/identity.h"

#include <doctest/doctest.h>

#include "wire/messages/limits.h"

namespace identity_test {

using namespace robustrun::wire;
using robustrun::base::Errc;

namespace {

PeerName agent(std::uint32_t node, std::uint32_t generation, std::string run = "run-1") {
  return {
      .run_id = std::move(run), .supervisor = false, .node = {node}, .generation = {generation}};
}

}  // namespace

TEST_CASE("a name has one spelling and is read back") {
  const PeerName supervisor{.run_id = "run-1", .supervisor = true, .node = {}, .generation = {}};
  CHECK(to_uri(supervisor) == "robustrun://run-1/supervisor");
  CHECK(to_uri(agent(3, 2)) == "robustrun://run-1/node/3/2");
  CHECK(to_uri(agent(0, 0, "a/b c%\xff")) == "robustrun://a%2Fb%20c%25%FF/node/0/0");
  for (const PeerName& name :
       {supervisor, agent(3, 2), agent(4294967295, 0), agent(0, 1, "a/b c%\xff")}) {
    CHECK(parse_uri(to_uri(name)) == name);
  }
}

TEST_CASE("other spellings are refused") {
  for (const std::string uri :
       {"", "robustrun://", "robustrun://run-1", "robustrun://run-1/", "robustrun:///supervisor",
        "robustrun://run-1/supervisor/", "robustrun://run-1/Supervisor", "http://run-1/supervisor",
        "robustrun://run-1/node/1", "robustrun://run-1/node/1/", "robustrun://run-1/node/01/2",
        "robustrun://run-1/node/-1/2", "robustrun://run-1/node/4294967296/2",
        "robustrun://run-1/node/1/2/3", "robustrun://run%2d1/supervisor",
        "robustrun://run%/supervisor", "robustrun://run%2/supervisor",
        "robustrun://run%zz/supervisor", "robustrun://run 1/supervisor"}) {
    CAPTURE(uri);
    CHECK_FALSE(parse_uri(uri).has_value());
  }
  const std::string longest(kRunIdBytesMax, 'x');
  CHECK(parse_uri("robustrun://" + longest + "/supervisor").has_value());
  CHECK_FALSE(parse_uri("robustrun://" + longest + "x/supervisor").has_value());
}

TEST_CASE("an authority restored from its PEM is the same, and signs") {
  const Authority made = Authority::make("run-1").value();
  const Authority again = Authority::from_pem("run-1", made.to_pem()).value();
  CHECK(again.fingerprint() == made.fingerprint());
  CHECK(again.fingerprint().size() == 32);
  CHECK(again.certificate() == made.certificate());
  CHECK(again.to_pem() == made.to_pem());
  CHECK(authority_fingerprint(made.certificate()).value() == made.fingerprint());
  const KeyRequest key = make_key_request().value();
  CHECK(again.sign(key.request, agent(1, 1)).value().starts_with("-----BEGIN CERTIFICATE-----"));
  CHECK(Authority::make("run-1").value().fingerprint() != made.fingerprint());
}

TEST_CASE("an authority is not read from halves, mismatched pairs or garbage") {
  const Authority one = Authority::make("run-1").value();
  const Authority other = Authority::make("run-1").value();
  const std::string key = one.to_pem().substr(0, one.to_pem().find("-----BEGIN CERT"));
  CHECK(Authority::from_pem("run-1", key).error().code == Errc::kCorrupt);
  CHECK(Authority::from_pem("run-1", one.certificate()).error().code == Errc::kCorrupt);
  CHECK(Authority::from_pem("run-1", key + other.certificate()).error().code == Errc::kCorrupt);
  CHECK(Authority::from_pem("run-1", "garbage").error().code == Errc::kCorrupt);
  CHECK(Authority::from_pem("run-1", std::string(kPemBytesMax + 1, '\n')).error().code ==
        Errc::kLimit);
  CHECK(Authority::from_pem("", one.to_pem()).error().code == Errc::kInvalidArgument);
  CHECK(Authority::make(std::string(kRunIdBytesMax + 1, 'x')).error().code ==
        Errc::kInvalidArgument);
  // An agent's certificate with its key is not an authority.
  const KeyRequest request = make_key_request().value();
  const std::string leaf = one.sign(request.request, agent(1, 1)).value();
  CHECK(Authority::from_pem("run-1", request.private_key + leaf).error().code == Errc::kCorrupt);
}

TEST_CASE("a damaged or foreign request is not signed") {
  const Authority authority = Authority::make("run-1").value();
  const std::string good = make_key_request().value().request;
  CHECK(authority.sign("", agent(1, 1)).error().code == Errc::kCorrupt);
  CHECK(authority.sign(authority.certificate(), agent(1, 1)).error().code == Errc::kCorrupt);
  std::string bad = good;
  const std::size_t at = bad.rfind("-----END") - 20;  // in the signature
  bad[at] = bad[at] == 'A' ? 'B' : 'A';
  CHECK_FALSE(authority.sign(bad, agent(1, 1)).has_value());
  // RSA, 1024 bits, signed well.
  const std::string rsa = R"(-----BEGIN CERTIFICATE REQUEST-----
MIIBPzCBqQIBADAAMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQD0/YEJNaEr
wDmxM9KygP1ODpe8DceumOkjdMev5+W1gMcThzKNSXeOj9aQ29ZUs9HJrteqHoWi
1edddC4Jg5kqFKMuPVClr1MzQsQYQGUyDNNO/6HzexsFdzSMUPKjjyNAkKNMRSvC
0Lsv3t58EQt2Zj3EYNPv5yam2bGPCO2BpwIDAQABoAAwDQYJKoZIhvcNAQELBQAD
gYEA2Qb2bGiqxuwV4LMpoGIzOGBjB/3bIiyJP+i3nw5A4s0ylWRgh/tmMFIuuKFG
c60tTZZlxXECRxTk/Wbrp/u/MFUik+VmwtLvcVqIShWqxY6OP+o40MNmTrG89fcN
VENc9merGu51ZI6dAQJKmoh0TUmzV294SpyvQjCeZ6TIcXg=
-----END CERTIFICATE REQUEST-----
)";
  CHECK(authority.sign(rsa, agent(1, 1)).error().code == Errc::kProtocol);
}

TEST_CASE("tokens are long and never the same") {
  CHECK(make_token().size() == kTokenBytes);
  CHECK(make_token() != make_token());
}

}  // namespace identity_test
