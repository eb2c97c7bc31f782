#include "supervisor/inject_command.h"

#include <unistd.h>

#include <utility>

#include "base/io/child_self.h"
#include "base/io/log.h"

namespace robustrun::supervisor {

ControlServer::Row inject_row(Injector& injector) {
  return {"inject", [&injector](const ControlFields& fields, ControlServer::Reply reply) {
            const auto request = read_fault_request(fields);
            if (!request) return reply(control_refusal(request.error().what), nullptr);
            if (request->kind == wire::FaultKind::kSupervisorDeath) {
              RR_LOG(kWarn, {}, "fault on purpose: supervisor-death");
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
