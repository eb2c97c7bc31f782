#include "supervisor/control/diagnose_row.h"

#include <utility>

#include "supervisor/control/fields.h"
#include "wire/messages/field_codec.h"

namespace robustrun::supervisor {

ControlServer::Row diagnose_row(LookAtWorkers look) {
  return {"diagnose", [look = std::move(look)](const ControlFields&, ControlServer::Reply reply) {
            look([reply = std::move(reply)](const tracer::Verdict* verdict) {
              if (verdict == nullptr) {
                return reply(control_refusal("no worker is running at the moment"), nullptr);
              }
              reply(write_control_message({{"verdict", bytes_to_member(wire::encode(*verdict))},
                                           {"sentence", verdict->sentence}}),
                    nullptr);
            });
          }};
}

base::Result<tracer::Verdict> read_verdict(const ControlFields& answer) {
  const std::string bytes = RR_TRY(member_to_bytes(text_of(answer, "verdict")));
  return wire::decode<tracer::Verdict>(bytes);
}

}  // namespace robustrun::supervisor
