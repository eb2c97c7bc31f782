#include "supervisor/control/view_rows.h"

#include <utility>

#include "supervisor/control/fields.h"
#include "wire/messages/field_codec.h"

namespace robustrun::supervisor {

ControlServer::Row use_row(std::function<void(base::Rank, UseAnswer)> look) {
  return {"use", [look = std::move(look)](const ControlFields& fields, ControlServer::Reply reply) {
            base::Rank rank;
            if (const auto read = read_number(fields, "rank", rank.value); !read) {
              return reply(control_refusal(read.error().what), nullptr);
            }
            look(rank, [reply = std::move(reply)](const base::Result<RankUse>& use) {
              if (!use) return reply(control_refusal(use.error().what), nullptr);
              reply(write_control_message(
                        {{"type", "use"}, {"use", bytes_to_member(wire::encode(*use))}}),
                    nullptr);
            });
          }};
}

ControlFields use_request(base::Rank rank) {
  return {{"command", "use"}, {"rank", std::to_string(rank.value)}};
}

base::Result<RankUse> read_use(const ControlFields& answer) {
  const std::string bytes = RR_TRY(member_to_bytes(text_of(answer, "use")));
  return wire::decode<RankUse>(bytes);
}

ControlServer::Row evict_row(std::function<base::Status(const std::string&)> evict) {
  return {
      "evict", [evict = std::move(evict)](const ControlFields& fields, ControlServer::Reply reply) {
        const base::Status done = evict(text_of(fields, "node"));
        reply(
            done ? write_control_message({{"type", "evict"}}) : control_refusal(done.error().what),
            nullptr);
      }};
}

ControlFields evict_request(const std::string& node) {
  return {{"command", "evict"}, {"node", node}};
}

}  // namespace robustrun::supervisor
