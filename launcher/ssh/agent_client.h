#pragma once
// Asks an ssh-agent for keys and signatures (draft-miller-ssh-agent) without blocking the loop,
// because the ssh-agent may first ask its user.
//
// One object per login, to be used on the loop of its executor; one request at a time. The caller
// sets the deadline: after close(), no handler is called.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::launcher {

struct SshAgentKey {
  std::string blob;  // raw public key
  std::string comment;  // for messages
};

class SshAgentClient {
 public:
  static std::shared_ptr<SshAgentClient> make(boost::asio::any_io_executor executor,
                                              std::string socket_path);
  virtual ~SshAgentClient() = default;
  // Connects, then lists at most kSshAgentKeysMax keys. To be called before sign().
  virtual void list(std::function<void(base::Result<std::vector<SshAgentKey>>)> done) = 0;
  // Signs `data` with the key `blob`. The result is the signature without its algorithm's name, as
  // libssh2 expects it.
  virtual void sign(const std::string& blob, std::string_view data,
                    std::function<void(base::Result<std::string>)> done) = 0;
  virtual void close() = 0;
};

}  // namespace robustrun::launcher
