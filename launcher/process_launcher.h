#pragma once
// Any number of agents on this machine, for tests, drills and `--launcher=processes`. Each gets its
// credential on its standard input and connects over the network, as it would from another machine.

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "launcher/agent_launcher.h"

namespace robustrun::launcher {

// `executable`: absolute path of robustrun itself. Makes this process a subreaper (prctl(2)), which
// inherits the descendants of a killed agent and kills them; other agents keep running.
std::unique_ptr<AgentLauncher> make_process_launcher(boost::asio::any_io_executor executor,
                                                     std::string executable);

}  // namespace robustrun::launcher
