#include "wire/tls/credential.h"

#include <doctest/doctest.h>

#include "wire/messages/field_codec.h"
#include "wire/messages/limits.h"
#include "wire/tls/identity.h"

namespace credential_test {

using namespace robustrun::wire;
using robustrun::base::Errc;

namespace {

Credential example() {
  return {.protocol = 1,
          .run_id = "run-1",
          .node = robustrun::base::NodeId{0},
          .generation = {2},
          .token = "a secret of 32 bytes, or nearly so",
          .ca_fingerprint = std::string(32, '\xfe'),
          .endpoints = {"10.0.0.1:4711", "[fe80::1%eth0]:4711"},
          .build = "0123abcd",
          .interface = "eth1",
          .count = "gpu",
          .interpreter = "/usr/bin/python3",
          .places = {}};
}

std::string line_of(const std::string& base64) { return "robustrun-credential-1 " + base64; }

}  // namespace

TEST_CASE("a credential is one line of text and comes back whole") {
  for (std::size_t more = 0; more < 3; ++more) {  // each padding of base64
    Credential in = example();
    in.token += std::string(more, '\0');
    const std::string line = to_line(in);
    CHECK(line.starts_with("robustrun-credential-1 "));
    CHECK(line.find('\n') == line.size() - 1);
    const auto out = parse_credential(line);
    REQUIRE(out);
    CHECK(encode(*out) == encode(in));
    CHECK(parse_credential(line.substr(0, line.size() - 1)).has_value());
  }
}

TEST_CASE("a machine that joins by itself has no node in its credential") {
  Credential in = example();
  in.node.reset();
  CHECK_FALSE(parse_credential(to_line(in)).value().node.has_value());
}

TEST_CASE("each agent takes its node's place from a credential for many") {
  Credential in = example();
  in.node.reset();
  in.places = {{"n1", {0}, {4}}, {"n2", {7}, {5}}};
  auto out = parse_credential(to_line(in));
  REQUIRE(out);
  CHECK(take_place(*out, "n3").error().code == Errc::kNotFound);
  CHECK_FALSE(out->node);
  REQUIRE(take_place(*out, "n2"));
  CHECK(out->node == robustrun::base::NodeId{7});
  CHECK(out->generation.value == 5);
  CHECK(out->places.empty());
  CHECK(out->token == in.token);
  in.places.resize(kPlacesMax + 1);
  CHECK(parse_credential(to_line(in)).error().code == Errc::kCorrupt);
}

TEST_CASE("a stored credential of version 1 is read correctly") {
  const auto out =
      parse_credential(line_of("CAESBXJ1bi0xGAAgAioDdG9rMgA6DTEwLjAuMC4xOjQ3MTFCAEoA"));
  REQUIRE(out);
  CHECK(out->protocol == 1);
  CHECK(out->run_id == "run-1");
  CHECK(out->node == robustrun::base::NodeId{0});
  CHECK(out->generation.value == 2);
  CHECK(out->token == "tok");
  CHECK(out->endpoints == std::vector<std::string>{"10.0.0.1:4711"});
}

TEST_CASE("an invalid credential is refused without repeating any of it") {
  const std::string good = to_line(example());
  const std::string body = good.substr(23, good.size() - 24);
  // The last four characters of base64 are the last three bytes of "eth1".
  const std::string cut_in_a_field = good.substr(0, good.size() - 5);
  for (const std::string& line :
       {std::string(), std::string("\n"), std::string("hello\n"), line_of(""), line_of("\n"),
        line_of("a"), line_of("===="), line_of(" " + body), line_of(body + " "),
        line_of(body + "\n\n"), line_of(body + "\r\n"), line_of("QUFB"), line_of("QR=="),
        cut_in_a_field, good + good}) {
    CAPTURE(line);
    const auto out = parse_credential(line);
    REQUIRE_FALSE(out);
    CHECK(out.error().code == Errc::kCorrupt);
    CHECK(out.error().what.find("secret") == std::string::npos);
    CHECK(out.error().what.find(body.substr(0, 8)) == std::string::npos);
  }
}

TEST_CASE("a credential must be short, name a run and endpoints, and pin a whole fingerprint") {
  CHECK(parse_credential(std::string(kCredentialBytesMax + 1, 'A')).error().code == Errc::kLimit);
  Credential wrong = example();
  wrong.run_id.clear();
  CHECK(parse_credential(to_line(wrong)).error().code == Errc::kCorrupt);
  wrong = example();
  wrong.endpoints.clear();
  CHECK(parse_credential(to_line(wrong)).error().code == Errc::kCorrupt);
  wrong.endpoints.assign(kEndpointsMax + 1, "10.0.0.1:1");
  CHECK(parse_credential(to_line(wrong)).error().code == Errc::kCorrupt);
  wrong = example();
  wrong.ca_fingerprint.pop_back();
  CHECK(parse_credential(to_line(wrong)).error().code == Errc::kCorrupt);
}

}  // namespace credential_test
