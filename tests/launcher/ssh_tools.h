#pragma once
// Shared by the tests with a real sshd: programs to run, ports, scripts and configuration files.

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/io/fd.h"
#include "base/io/tool.h"
#include "launcher/own_environment.h"

namespace robustrun::test {

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::size_t count_of(const std::string& piece, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(piece, at)) != std::string::npos; ++at) ++count;
  return count;
}

inline std::string tool(const std::string& name) {
  const auto path = base::find_executable(
      name, launcher::value_of(launcher::own_environment(), "PATH") + ":/usr/sbin:/sbin");
  REQUIRE_MESSAGE(path.has_value(), name << " is not installed; scripts/install-deps.sh test");
  return *path;
}

inline std::string run(std::vector<std::string> argv) {
  argv.front() = tool(argv.front());
  const auto result = base::run_tool(argv, std::chrono::seconds(20));
  REQUIRE(result.has_value());
  INFO(result->err);
  REQUIRE(result->status.success());
  return result->out;
}

inline std::uint16_t bind_somewhere(int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  socklen_t size = sizeof address;
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

// Our own listening socket; never accepts.
struct Listener {
  Listener() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    port = bind_somewhere(fd.get());
    REQUIRE(::listen(fd.get(), 64) == 0);
  }
  base::Fd fd;
  std::uint16_t port = 0;
};

// A port without a listener that no other process gets while this lives; a server that sets
// SO_REUSEADDR, such as sshd, can use it.
struct HeldPort {
  HeldPort() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    REQUIRE(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
    port = bind_somewhere(fd.get());
  }
  base::Fd fd;
  std::uint16_t port = 0;
};

// The fake agent records what it got, by the address it was reached at; then it does what its
// credential says.
inline std::string stand_in_script(const std::string& folder) {
  return "#!/bin/sh\n"
         "set -- \"$0\" \"$@\"\n"
         "address=${SSH_CONNECTION#* * }; address=${address% *}\n"
         "out=" +
         folder +
         "/out/$address; mkdir -p $out\n"
         "echo \"$@\" > $out/argv\n"
         "env > $out/environment\n"
         "echo $$ > $out/pid\n"
         "read -r line\n"
         "echo \"$line\" > $out/credential.new; mv $out/credential.new $out/credential\n"
         "case \"$line\" in\n"
         "*'exit 7') echo 'it went wrong' >&2; exit 7 ;;\n"
         "*'other build') test -e $out/met && exec cat; touch $out/met; exit 65 ;;\n"
         "*'stay') exec sleep 600 ;;\n"
         "esac\n"
         "exec cat\n";
}

// Each address has its own home (sshd's user has only one), or all share one. Records commands. Can
// hide the launcher's own path.
inline std::string wrapper_script(const std::string& folder) {
  return "#!/bin/sh\n"
         "address=${SSH_CONNECTION#* * }; address=${address% *}\n"
         "test -e " +
         folder +
         "/shared-home && address=shared\n"
         "HOME=" +
         folder +
         "/home/$address; export HOME\n"
         "mkdir -p $HOME; cd $HOME\n"
         "echo \"$SSH_ORIGINAL_COMMAND\" >> " +
         folder +
         "/commands\n"
         "test -e " +
         folder +
         "/not-installed && SSH_ORIGINAL_COMMAND=$("
         "echo \"$SSH_ORIGINAL_COMMAND\" | sed 's#/here/#/nowhere/#g')\n"
         "exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n";
}

inline std::string server_config(const std::string& folder) {
  return "HostKey " + folder +
         "/host_key\n"
         "PidFile none\n"
         "UsePAM no\n"
         "StrictModes no\n"
         "PermitRootLogin yes\n"
         "AuthorizedKeysFile " +
         folder +
         "/authorized_keys\n"
         "ForceCommand " +
         folder +
         "/wrapper\n"
         "Subsystem sftp /usr/lib/openssh/sftp-server\n"
         "LogLevel VERBOSE\n";
}

inline std::string client_config(const std::string& folder, const std::string& first) {
  return "Host *\n" + first + "IdentityFile " + folder +
         "/user_key\n"
         "IdentitiesOnly yes\n"
         "IdentityAgent none\n"
         "UserKnownHostsFile " +
         folder +
         "/known_hosts\n"
         "GlobalKnownHostsFile /dev/null\n"
         "StrictHostKeyChecking yes\n";
}

}  // namespace robustrun::test
