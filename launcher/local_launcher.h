#pragma once
// One agent on this machine: `robustrun agent` at the other end of a socket pair (descriptor 3).

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "launcher/agent_launcher.h"

namespace robustrun::launcher {

// `executable`: absolute path of robustrun itself. Makes this process a subreaper (prctl(2)), which
// inherits the descendants of a killed agent and kills them. Orders need no credential.
std::unique_ptr<AgentLauncher> make_local_launcher(boost::asio::any_io_executor executor,
                                                   std::string executable);

}  // namespace robustrun::launcher
