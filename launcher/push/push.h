#pragma once
// Brings a bundle into the cache of the host at the other end of a link: uploads it to a new folder
// there, has its hashes checked, and puts it in place with one rename. Several pushes to the same
// home directory may run at the same time.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "launcher/push/bundle.h"
#include "launcher/ssh_link.h"

namespace robustrun::launcher {

class SshPush {
 public:
  struct Order {
    std::shared_ptr<SshLink> link;  // no other command may run on it
    std::shared_ptr<const PushBundle> bundle;
    std::string folder;  // name of a new folder in the cache
    bool replace = false;  // an existing folder of this bundle is damaged
  };
  // `done` is called once, from the loop. SshTrouble::kNone and status 0 mean success; anything
  // else says why the push failed. The push fails after kPushStallMax without an answer.
  static std::shared_ptr<SshPush> start(boost::asio::any_io_executor executor, Order order,
                                        std::function<void(const SshEnd&)> done);
  virtual ~SshPush() = default;
  // `done` is not called any more; closes the link.
  virtual void cancel() = 0;
};

}  // namespace robustrun::launcher
