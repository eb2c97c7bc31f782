#include "supervisor/control/inject_command.h"

#include <unistd.h>

#include <utility>

#include "base/io/child_self.h"

namespace robustrun::supervisor {

ControlServer::Row inject_row(Injector& injector) {
  return {"inject", [&injector](const ControlFields& fields, ControlServer::Reply reply) {
            const auto request = read_fault_request(fields);
            if (!request) return reply(control_refusal(request.error().what), nullptr);
            if (request->kind == wire::FaultKind::kSupervisorDeath) {
              injector.note_own_death(::getpid());
              const FaultReport report{{}, {}, ::getpid(), "SIGKILL"};
              return reply(write_control_message(to_fields(report)), base::die_at_once);
            }
            injector.inject(*request,
                            [reply = std::move(reply)](const base::Result<FaultReport>& report) {
                              reply(report ? write_control_message(to_fields(*report))
                                           : control_refusal(report.error().what),
                                    nullptr);
                            });
          }};
}

}  // namespace robustrun::supervisor
