#pragma once
// The row "inject" of the control server's table, for `robustrun inject`.

#include "supervisor/control/injector.h"
#include "supervisor/control/server.h"

namespace robustrun::supervisor {

// `injector` must outlive the server. The fault supervisor-death happens here, after the answer.
[[nodiscard]] ControlServer::Row inject_row(Injector& injector);

}  // namespace robustrun::supervisor
