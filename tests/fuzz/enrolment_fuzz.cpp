// What a stranger says in Enrol when nothing but the message is checked (--insecure-rdzv): a
// certificate or a refusal. And names in certificates: one spelling each.
// Seeds: tests/fuzz/seeds/enrolment

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/link/admission.h"
#include "wire/messages/field_codec.h"

using namespace robustrun::wire;

namespace {

const Admission& admission() {
  static const Admission open(Authority::make("run-1").value(), {}, {}, std::string(32, 's'));
  return open;
}

void ask(const Enrol& enrol) {
  const auto enrolled =
      admission().enrol(enrol, [](const Enrol& proven) -> robustrun::base::Result<PeerName> {
        return PeerName{
            .run_id = {}, .supervisor = false, .node = {}, .generation = proven.generation};
      });
  RR_ASSERT(!enrolled || !enrolled->certificate.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto enrol = decode<Enrol>(input)) ask(*enrol);
  Enrol enrol{.run_id = "run-1",
              .node = {},
              .generation = {},
              .host = {},
              .node_rank = {},
              .request = std::string(input),
              .nonce = std::string(16, 'n'),
              .proof_kind = ProofKind::kNone,
              .proof = {},
              .command_digest = {}};
  ask(enrol);
  if (const auto name = parse_uri(input)) RR_ASSERT(to_uri(*name) == input);
  return 0;
}
