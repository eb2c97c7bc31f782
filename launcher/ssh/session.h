#pragma once
// SSH built in: a libssh2 session, non-blocking on the loop.
//
// libssh2 1.10 in short: after EAGAIN the same call is repeated with the same arguments before any
// other one; a session belongs to one thread; nothing has a deadline of its own. So there is one
// state machine per session, which knows what call is next, and a timer beside it.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "launcher/ssh/target.h"
#include "launcher/ssh_link.h"

namespace robustrun::launcher {

// `store`: a line for the user's known_hosts file (StrictHostKeyChecking=accept-new).
std::shared_ptr<SshLink> make_libssh2_link(boost::asio::any_io_executor executor,
                                           std::shared_ptr<const SshTarget> target,
                                           std::function<void(const std::string& line)> store);

}  // namespace robustrun::launcher
