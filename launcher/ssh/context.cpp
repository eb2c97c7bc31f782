#include "launcher/ssh/context.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "base/core/words.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/tool.h"
#include "launcher/limits.h"
#include "launcher/openssh/link.h"
#include "launcher/own_environment.h"
#include "launcher/ssh/dial.h"

namespace robustrun::launcher {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

base::Status append_line(const std::string& file, const std::string& line) {
  const std::size_t slash = file.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    RR_TRY(base::make_directories(file.substr(0, slash), 0700));
  }
  const base::Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd) return base::fail_errno("cannot write " + file, errno);
  return base::write_all(fd.get(), line);
}

// There is no port to probe behind a jump host.
struct RemoteProbe : std::enable_shared_from_this<RemoteProbe> {
  RemoteProbe(const boost::asio::any_io_executor& executor, std::function<void(bool)> handler)
      : timer(executor), done(std::move(handler)) {}

  void finish(bool answers) {
    timer.cancel();
    link->close();
    const auto handler = std::exchange(done, nullptr);
    if (handler) handler(answers);
  }

  boost::asio::steady_timer timer;
  std::shared_ptr<SshLink> link;
  std::function<void(bool)> done;
};

}  // namespace

SshContext::SshContext(boost::asio::any_io_executor loop, base::BlockingPool& threads,
                       SshOptions settings)
    : executor(std::move(loop)),
      pool(threads),
      options(std::move(settings)),
      connections(executor, std::max<std::uint32_t>(options.fanout, 1), kBastionConnectionsMax),
      pushes(executor, kPushesMax, kPushesMax),
      rng(base::system_seed()) {
  client = options.ssh_command;
  if (client.empty()) client = {"ssh"};
  client_is_ssh = file_name(client.front()) == "ssh";
  client_is_qrsh = file_name(client.front()) == "qrsh";
  const auto found = base::find_executable(client.front(), value_of(own_environment(), "PATH"));
  if (found) {
    client.front() = *found;
  } else {
    client.clear();
  }
}

void SshContext::read_target(std::shared_ptr<SshHost> host, TargetHandler handler) {
  const Host asked = without_brackets(host->host);
  TargetRequest request{std::move(host), std::move(handler)};
  if (client.empty() || !client_is_ssh || !is_plain_host_name(asked.name)) {
    return make_target(std::move(request), nullptr);
  }
  const auto [round, is_first] = waiting_.try_emplace({asked.user, asked.port});
  if (!is_first) return round->second.push_back(std::move(request));
  auto answer = std::make_shared<base::Result<SshAnswer>>();
  const base::Status submitted = pool.submit(
      request.host->lane, [answer, asked, client = client] { *answer = ask_ssh(client, asked); },
      [self = shared_from_this(), request, answer] { self->on_answer(request, answer); });
  if (submitted) return;
  waiting_.erase(round);
  request.handler(std::unexpected(submitted.error()));
}

void SshContext::on_answer(const TargetRequest& asker, const Answer& answer) {
  auto round = waiting_.extract({asker.host->host.user, asker.host->host.port});
  RR_ASSERT(!round.empty());
  for (TargetRequest& other : round.mapped()) make_target(std::move(other), answer);
  if (!*answer) return asker.handler(std::unexpected(answer->error()));
  make_target(asker, answer);
}

void SshContext::make_target(TargetRequest request, const Answer& answer) {
  auto target = std::make_shared<base::Result<SshTarget>>();
  const base::Status submitted = pool.submit(
      request.host->lane,
      [target, answer, host = request.host->host, options = options,
       asks = client_is_ssh ? client : std::vector<std::string>{}] {
        const bool known = answer != nullptr && answer->has_value();
        *target = make_ssh_target(host, options, asks, known ? &**answer : nullptr);
      },
      [request, target] { request.handler(std::move(*target)); });
  if (!submitted) request.handler(std::unexpected(submitted.error()));
}

void SshContext::with_bundle(BundleHandler handler) {
  if (bundle != nullptr) {
    return boost::asio::post(
        executor, [this_bundle = bundle, handler = std::move(handler)] { handler(this_bundle); });
  }
  bundle_waiting.push_back(std::move(handler));
  if (bundle_waiting.size() > 1) return;
  auto read = std::make_shared<base::Result<PushBundle>>();
  const auto answer = [this, self = shared_from_this(), read] {
    base::Result<std::shared_ptr<const PushBundle>> result;
    if (*read) {
      bundle = std::make_shared<const PushBundle>(std::move(**read));
      result = bundle;
    } else {
      result = std::unexpected(read->error());
    }
    for (const BundleHandler& one : std::exchange(bundle_waiting, {})) one(result);
  };
  const base::Status submitted = pool.submit(
      kLaneFirst,
      [read, executable = options.executable, companions = options.bundle] {
        *read = read_push_bundle(executable, companions);
      },
      answer);
  if (submitted) return;
  *read = std::unexpected(submitted.error());
  boost::asio::post(executor, answer);
}

void SshContext::tell_fallback(const std::string& host, const std::string& reason) {
  if (!told.insert(reason).second) return;
  RR_LOG(kInfo, ({.node = host}), "uses the OpenSSH client, not the built-in SSH: {}", reason);
}

void SshContext::tell_slow_start(const std::string& host) {
  if (++slow_starts > kSlowStartsNamedMax) return;
  const std::string limit = base::in_seconds(options.start_timeout);
  if (slow_starts == kSlowStartsNamedMax) {
    RR_LOG(kInfo, {}, "{} and other hosts have not answered over SSH yet", host);
  } else {
    RR_LOG(kInfo, ({.node = host}), "no answer over SSH yet; waiting for at most {}", limit);
  }
}

void SshContext::store_host_key(const SshHost& host, const std::string& line) {
  if (host.target == nullptr || host.target->settings.user_known_hosts_files.empty()) return;
  const std::string file = host.target->settings.user_known_hosts_files.front();
  auto status = std::make_shared<base::Status>();
  const base::Status submitted = pool.submit(
      host.lane, [status, file, line] { *status = append_line(file, line); },
      [status, name = host.host.name] {
        if (!*status) RR_LOG(kWarn, ({.node = name}), "{}", status->error().what);
      });
  if (!submitted) RR_LOG(kWarn, ({.node = host.host.name}), "{}", submitted.error().what);
}

void probe_ssh_host(const std::shared_ptr<SshContext>& context, const SshHost& host,
                    std::function<void(bool answers)> done) {
  if (host.target == nullptr) {  // no trouble is known
    return boost::asio::post(context->executor, [done = std::move(done)] { done(true); });
  }
  const SshSettings& settings = host.target->settings;
  // Only the program of --ssh-command knows where it connects to.
  const bool is_direct = settings.jump_host.empty() && context->client_is_ssh;
  if (is_direct || context->client.empty()) {
    SshDial::start(
        context->executor, host.target->addresses, settings.port, kProbeWait,
        [done = std::move(done)](const base::Result<base::Fd>& fd) { done(fd.has_value()); });
    return;
  }
  const auto probe = std::make_shared<RemoteProbe>(context->executor, std::move(done));
  probe->link = make_openssh_link(
      context->executor, {context->client, host.host, kProbeWait, context->options.agent_socket,
                          context->client_is_qrsh});
  probe->link->run({"true", false}, {.on_output = nullptr, .on_end = [probe](const SshEnd& end) {
                                       probe->finish(end.trouble == SshTrouble::kNone);
                                     }});
  probe->timer.expires_after(kJumpProbeWait);
  probe->timer.async_wait([probe](const boost::system::error_code& error) {
    if (!error) probe->finish(false);
  });
}

}  // namespace robustrun::launcher
