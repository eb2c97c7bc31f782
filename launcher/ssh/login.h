#pragma once
// The login of one libssh2 session. Tries keys of the ssh-agent (those of configured files first),
// then key files, until the server accepts one; at most kLoginKeysMax. explain() names the keys
// that were tried and those that libssh2 cannot use, and counts the keys that were not tried.
//
// Call step() again at once after kAgain, when the socket is ready after kWaitForSocket, and when
// `wake` is called after kWaitForAgent.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/ssh/agent_client.h"
#include "launcher/ssh/target.h"
#include "launcher/ssh_link.h"

struct _LIBSSH2_SESSION;

namespace robustrun::launcher {

class SshLogin {
 public:
  enum class Outcome : std::uint8_t { kDone, kAgain, kWaitForSocket, kWaitForAgent, kFailed };

  SshLogin(boost::asio::any_io_executor executor, std::shared_ptr<const SshTarget> target,
           std::function<void()> wake);
  ~SshLogin();
  SshLogin(const SshLogin&) = delete;
  SshLogin& operator=(const SshLogin&) = delete;

  Outcome step(_LIBSSH2_SESSION* session);
  // After kFailed.
  [[nodiscard]] SshTrouble trouble() const;
  [[nodiscard]] std::string explain() const;

  // libssh2 calls this for a signature. Returns 0 with `*signature` (from malloc(), freed by
  // libssh2), or a libssh2 error code.
  int sign(unsigned char** signature, std::size_t* size, std::string_view data);

 private:
  struct Candidate {
    std::string label;
    std::string blob;  // of a key in the agent
    std::string text;  // of a key file
  };
  Outcome ask_agent();
  void choose(const std::vector<SshAgentKey>& agent_keys);
  void add(Candidate candidate);
  Outcome attempt(_LIBSSH2_SESSION* session);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<const SshTarget> target_;
  std::function<void()> wake_;
  std::shared_ptr<SshAgentClient> agent_;
  bool asked_ = false;  // the agent was asked for its keys
  bool chosen_ = false;  // candidates_ is complete
  bool signing_ = false;  // the agent was asked for a signature
  bool broken_ = false;  // the connection failed, not the key
  std::unique_ptr<base::Result<std::string>> signature_;
  std::string agent_trouble_;
  std::vector<Candidate> candidates_;
  std::size_t beyond_ = 0;  // usable keys after the first kLoginKeysMax
  std::size_t at_ = 0;
  std::vector<std::string> tried_;
  std::vector<std::string> left_out_;  // keys that OpenSSH might use
  std::vector<std::string> unusable_;  // files that need a passphrase, or hold no known key
};

}  // namespace robustrun::launcher
