#pragma once
// SSH through the OpenSSH client: one process per command.
//
// For what libssh2 cannot do (proxies, GSSAPI, RSA keys, certificates). The client runs in its own
// session, so that a Ctrl-C in the terminal does not reach it. close() kills the client, unless it
// is qrsh: Grid Engine ends the whole job when a qrsh dies by a signal. So qrsh is left to end with
// its task, or with the job.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"
#include "launcher/ssh_link.h"

namespace robustrun::launcher {

struct OpenSshOptions {
  std::vector<std::string> client;  // the ssh command, absolute
  Host host;
  std::chrono::milliseconds connect_timeout{};
  std::string agent_socket;  // SSH_AUTH_SOCK; empty: as in our environment
  bool outlives_close = false;  // the client is qrsh, which close() must not kill
};
std::shared_ptr<SshLink> make_openssh_link(boost::asio::any_io_executor executor,
                                           OpenSshOptions options);

}  // namespace robustrun::launcher
