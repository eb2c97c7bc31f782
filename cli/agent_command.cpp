#include "agent/agent.h"
#include "cli/commands.h"

namespace robustrun::cli {

int agent_command() {
  constexpr int kChannelFd = 3;
  return agent::run_agent(base::Fd(kChannelFd));
}

}  // namespace robustrun::cli
