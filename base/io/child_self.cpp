#include "base/io/child_self.h"

#include <signal.h>
#include <unistd.h>

#include "base/core/result.h"

namespace robustrun::base {

void die_at_once() {
  ::kill(::getpid(), SIGKILL);
  assertion_failed("a process survives its own SIGKILL", __FILE__, __LINE__);
}

void signal_self(int signal) { ::kill(::getpid(), signal); }

}  // namespace robustrun::base
