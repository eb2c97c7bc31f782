#pragma once
// Asks an ssh-agent for keys and signatures (draft-miller-ssh-agent), without ever waiting in the
// loop: an agent may ask its user first.
//
// One per login, on the loop of its executor. One question at a time. Whoever asks sets the
// deadline: close() ends everything, no handler is called afterwards.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::launcher {

struct SshAgentKey {
  std::string blob;     // raw public key
  std::string comment;  // for messages
};

class SshAgentClient {
 public:
  static std::shared_ptr<SshAgentClient> make(boost::asio::any_io_executor executor,
                                              std::string socket_path);
  virtual ~SshAgentClient() = default;
  // Connects first. At most kSshAgentKeysMax keys.
  virtual void list(std::function<void(base::Result<std::vector<SshAgentKey>>)> done) = 0;
  // The signature without the name of its algorithm, as libssh2 wants it.
  virtual void sign(const std::string& blob, std::string_view data,
                    std::function<void(base::Result<std::string>)> done) = 0;
  virtual void close() = 0;
};

}  // namespace robustrun::launcher
