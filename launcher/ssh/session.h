#pragma once
// SSH by libssh2: a session that does not block, on the loop.
//
// Rules of libssh2 1.10: after EAGAIN, the same call must be repeated with the same arguments
// before any other call; a session belongs to one thread; no call has a deadline. So each session
// has a timer, and one state machine that knows the next call.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "launcher/ssh/target.h"
#include "launcher/ssh_link.h"

namespace robustrun::launcher {

// `store`: called with a line for the user's known_hosts file (StrictHostKeyChecking=accept-new).
std::shared_ptr<SshLink> make_libssh2_link(boost::asio::any_io_executor executor,
                                           std::shared_ptr<const SshTarget> target,
                                           std::function<void(const std::string& line)> store);

}  // namespace robustrun::launcher
