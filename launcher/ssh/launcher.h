#pragma once
// Agents over SSH: by libssh2 if it can serve the host, otherwise through the OpenSSH client
// (docs/nodes.md, "SSH"). Both work alike: one remote command per agent becomes
//   PATH/robustrun agent --stdin-credential
// with the credential on its standard input. The session stays open as long as the agent lives; the
// session's end is the first sign that the agent has ended.
//
// If a host does not have exactly this build, the build is pushed over SFTP to
// ~/.cache/robustrun/<hash>/ (0700), verified and run there. At most `fanout` connections are being
// set up at once, and at most kBastionConnectionsMax through one jump host. A connection that
// breaks before robustrun has started there is retried after a random pause. Every step has a
// deadline, except for the wait for a turn and the reading of this build. launch() over an older
// agent and kill_all() kill an agent by a second remote command. If the host cannot be reached
// within kOldAgentWait, only the session is closed, and the agent ends when its lease expires.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/agent_launcher.h"
#include "launcher/hosts/host.h"
#include "launcher/limits.h"

namespace robustrun::base {
class BlockingPool;
}

namespace robustrun::launcher {

enum class SshTransport : std::uint8_t { kAuto, kLibssh2, kOpenSsh };

struct SshOptions {
  SshTransport transport = SshTransport::kAuto;
  // --ssh-command, split into words; empty: "ssh" on PATH. A program called ssh is asked for the
  // configuration (`ssh -G`). With kAuto, a program of another name is used for all connections.
  std::vector<std::string> ssh_command;
  std::uint32_t fanout = 64;
  // Time for all tries to connect to one host, to log in, and to start robustrun there.
  std::chrono::milliseconds start_timeout{30'000};
  std::string executable;  // path of robustrun itself, absolute
  // Files to push along with `executable`: absolute paths, below the same installation prefix.
  std::vector<std::string> bundle;
  std::string home;  // ~ of the caller, for keys and known_hosts
  std::string agent_socket;  // SSH_AUTH_SOCK; empty: none
  template <class V>
  void fields(V& v) {
    std::chrono::nanoseconds timeout = start_timeout;
    v(1, "transport", transport);
    v(2, "ssh_command", ssh_command);
    v(3, "fanout", fanout);
    v(9, "start_timeout", timeout);  // 4 was a time for the login alone
    v(5, "executable", executable);
    v(6, "bundle", bundle);
    v(7, "home", home);
    v(8, "agent_socket", agent_socket);
    start_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  }
  [[nodiscard]] std::chrono::milliseconds login_timeout() const {
    return std::min<std::chrono::milliseconds>(
        start_timeout, std::max<std::chrono::milliseconds>(kLoginMin, start_timeout / 2));
  }
};

// `hosts`: by NodeId. `pool`: for files, name look-up and `ssh -G`.
std::unique_ptr<AgentLauncher> make_ssh_launcher(boost::asio::any_io_executor executor,
                                                 base::BlockingPool& pool, std::vector<Host> hosts,
                                                 SshOptions options);

}  // namespace robustrun::launcher
