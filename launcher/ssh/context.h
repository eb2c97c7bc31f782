#pragma once
// State shared by all hosts of one SSH launcher, and state that is kept of each host between
// launches. Only for launcher/.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/io/blocking_pool.h"
#include "launcher/push/bundle.h"
#include "launcher/ssh/gate.h"
#include "launcher/ssh/launcher.h"
#include "launcher/ssh/target.h"

namespace robustrun::launcher {

struct SshHost {
  Host host;
  base::BlockingPool::Lane lane = 0;
  std::shared_ptr<const SshTarget> target;  // as last read; null before the first launch
  bool use_openssh = false;  // an earlier launch found that libssh2 cannot serve the host
  bool use_cache = false;    // the host does not have this build at our path
};

struct SshContext : std::enable_shared_from_this<SshContext> {
  using BundleHandler = std::function<void(base::Result<std::shared_ptr<const PushBundle>>)>;
  using TargetHandler = std::function<void(base::Result<SshTarget>)>;

  SshContext(boost::asio::any_io_executor loop, base::BlockingPool& threads, SshOptions settings);

  // Reads a host's SshTarget on the pool. While the ssh client is asked about one host, other hosts
  // with the same user and port wait for the answer, which is usually valid for them, too. Later
  // requests ask again, so that an edited configuration takes effect.
  void read_target(std::shared_ptr<SshHost> host, TargetHandler handler);
  // Reads the bundle once, on the pool.
  void with_bundle(BundleHandler handler);
  // Logs, once per reason, why the OpenSSH client is used.
  void tell_fallback(const std::string& host, const std::string& reason);
  // Logs that a host has not answered yet, for the first kSlowStartsNamedMax hosts; the last of
  // these lines says that there are others.
  void tell_slow_start(const std::string& host);
  // Appends `line` to the user's first known_hosts file, on the pool. Logs a failure.
  void store_host_key(const SshHost& host, const std::string& line);

  boost::asio::any_io_executor executor;
  base::BlockingPool& pool;
  SshOptions options;
  std::vector<std::string> client;  // the ssh command, absolute; empty: not found
  bool client_is_ssh = true;  // the program is called ssh, so it supports `ssh -G`
  bool client_is_qrsh = false;
  SshGate connections;
  SshGate pushes;
  base::Rng rng;
  base::SystemClock clock;
  std::shared_ptr<const PushBundle> bundle;
  std::vector<BundleHandler> bundle_waiting;
  std::set<std::string> told;
  unsigned slow_starts = 0;

 private:
  struct TargetRequest {
    std::shared_ptr<SshHost> host;
    TargetHandler handler;
  };
  using Answer = std::shared_ptr<const base::Result<SshAnswer>>;

  void on_answer(const TargetRequest& asker, const Answer& answer);
  void make_target(TargetRequest request, const Answer& answer);

  // By user and port: requests that wait for the answer about another host.
  std::map<std::pair<std::string, std::uint16_t>, std::vector<TargetRequest>> waiting_;
};

// Checks whether the machine accepts connections to its SSH port, within kProbeWait. Behind a jump
// host, or with a program other than ssh, tries a login, within kJumpProbeWait. A host before its
// first launch counts as one that answers.
void probe_ssh_host(const std::shared_ptr<SshContext>& context, const SshHost& host,
                    std::function<void(bool answers)> done);

}  // namespace robustrun::launcher
