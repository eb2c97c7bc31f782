#include "agent/standby/standby_template.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "agent/process/priority.h"
#include "agent/spawn/worker_stream.h"
#include "agent/standby/limits.h"
#include "agent/standby/standby.h"
#include "base/io/child.h"
#include "base/io/descriptor_limit.h"
#include "base/io/log.h"
#include "base/io/strays.h"

namespace robustrun::agent {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Sends one message with descriptors.
base::Status send_with(int socket, const std::string& message, const std::array<int, 4>& passed) {
  iovec bytes{const_cast<char*>(message.data()), message.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof passed)> space{};
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  header.msg_control = space.data();
  header.msg_controllen = space.size();
  cmsghdr* const descriptors = CMSG_FIRSTHDR(&header);
  descriptors->cmsg_level = SOL_SOCKET;
  descriptors->cmsg_type = SCM_RIGHTS;
  descriptors->cmsg_len = CMSG_LEN(sizeof passed);
  std::memcpy(CMSG_DATA(descriptors), passed.data(), sizeof passed);
  if (::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return {};
  return base::fail_errno("cannot order a standby worker from its template", errno);
}

class TemplateImpl final : public StandbyTemplate {
 public:
  TemplateImpl(NodeContext& node, Plan plan, Handlers handlers)
      : plan_(std::move(plan)),
        handlers_(std::move(handlers)),
        patience_(node.executor),
        socket_(node.executor) {}
  ~TemplateImpl() override { *alive_ = false; }
  TemplateImpl(const TemplateImpl&) = delete;
  TemplateImpl& operator=(const TemplateImpl&) = delete;

  base::Status launch(NodeContext& node);
  [[nodiscard]] const LaunchSpec& spawn() const override { return plan_.spawn; }
  [[nodiscard]] const Ready& ready() const override { return *ready_; }
  [[nodiscard]] bool is_ready() const override { return ready_ && !ended_; }
  [[nodiscard]] bool is_importing() const override { return !ready_ && !killed_; }
  base::Status request(const Order& order, int control) override;
  void hurry() override {
    if (!ended_) restore_priority(child_->pid());
  }
  void kill() override {
    killed_ = true;
    end();
  }

 private:
  void end() {
    ended_ = true;
    static_cast<void>(child_->signal(SIGKILL));
  }
  void await_message();
  void on_message();
  void wait_at_most(std::chrono::milliseconds time);

  const Plan plan_;
  Handlers handlers_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  boost::asio::steady_timer patience_;
  stream_descriptor socket_;
  base::Fd out_, err_;  // kept open until it has replaced its ends
  base::SparedChild spared_;
  std::unique_ptr<base::Child> child_;
  std::optional<Ready> ready_;
  unsigned forks_ = 0;  // ordered and not reported yet
  bool killed_ = false;  // by its owner
  bool ended_ = false;
};

base::Status TemplateImpl::launch(NodeContext& node) {
  base::FdPair pair = RR_TRY(base::make_socket_pair(SOCK_SEQPACKET));
  base::FdPair out, err;
  // Streams of the kind that the standbys will have: Python looks at them once, when it starts.
  if (is_captured(plan_.spawn.out)) out = RR_TRY(base::make_pipe());
  if (is_captured(plan_.spawn.err)) err = RR_TRY(base::make_pipe());
  out_ = std::move(out.first);
  err_ = std::move(err.first);
  Environment environment(plan_.spawn.environment);
  environment.set("ROBUSTRUN_STANDBY_SOCKET", (plan_.is_first ? "first:" : ":") + plan_.modules);

  base::ChildOptions options;
  options.executable = node.shim;
  options.argv = {"robustrun-shim", "--template"};
  if (!plan_.spawn.cpus.empty()) options.argv.push_back("--cpus=" + plan_.spawn.cpus);
  if (!plan_.spawn.memory.empty()) options.argv.push_back("--memory=" + plan_.spawn.memory);
  options.argv.push_back("--files=" + std::to_string(base::inherited_descriptor_limit()));
  if (!plan_.spawn.working_directory.empty()) {
    options.argv.push_back("--chdir=" + plan_.spawn.working_directory);
  }
  options.argv.emplace_back("--");
  options.argv.insert(options.argv.end(), plan_.spawn.argv.begin(), plan_.spawn.argv.end());
  options.environment = std::move(environment).take();
  options.descriptors = {plan_.spawn.in_fd, out.second.get(), err.second.get(), pair.second.get()};
  child_ = RR_TRY(base::Child::spawn(node.executor, options, [this](base::ExitStatus status) {
    if (!ready_ && !killed_) {
      RR_LOG(kInfo, {}, "the template of standby workers ended before it was ready: {}",
             base::describe(status));
    }
    patience_.cancel();
    ended_ = true;
    if (const auto gone = std::exchange(handlers_.on_gone, nullptr)) gone();
  }));
  spared_.is(child_->pid());
  socket_.assign(pair.first.release());
  await_message();
  wait_at_most(kStandbyReadyMax);
  return {};
}

void TemplateImpl::wait_at_most(std::chrono::milliseconds time) {
  patience_.expires_after(time);
  patience_.async_wait([this, alive = alive_](const error_code& error) {
    if (!error && *alive) end();
  });
}

void TemplateImpl::await_message() {
  socket_.async_wait(stream_descriptor::wait_read, [this, alive = alive_](const error_code& error) {
    if (!error && *alive) on_message();
  });
}

// First what it reports of its imports, then an empty report for each fork.
void TemplateImpl::on_message() {
  if (ended_) return;
  std::string message(kStandbyMessageBytesMax, '\0');
  const ssize_t got = ::recv(socket_.native_handle(), message.data(), message.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return await_message();
  if (got <= 0) return end();
  message.resize(static_cast<std::size_t>(got));
  patience_.cancel();
  const auto alive = alive_;
  if (forks_ > 0 && --forks_ > 0) wait_at_most(kStandbyForkMax);
  if (!ready_) {
    auto ready = parse_ready(message);
    if (!ready) return end();
    ready_ = *std::move(ready);
    out_.reset();
    err_.reset();
    if (const auto on_ready = handlers_.on_ready) on_ready();
  }
  if (*alive && !ended_) await_message();
}

base::Status TemplateImpl::request(const Order& order, int control) {
  RR_ASSERT(is_ready());
  const base::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto or_null = [&](int fd) { return fd < 0 ? null.get() : fd; };
  const std::vector<std::string> argv = ShimLink::adopting_argv(order.shim);
  std::string message = order.socket + '\0' + order.shim.shim + '\0' + order.shim.cgroup + '\0' +
                        std::to_string(argv.size()) + '\0';
  for (const std::string& word : argv) message += word + '\0';
  for (const std::string& change : order.changes) message += change + '\0';
  RR_TRY(send_with(socket_.native_handle(), message,
                   {control, or_null(order.shim.in_fd), or_null(order.shim.out_fd),
                    or_null(order.shim.err_fd)}));
  if (++forks_ == 1) wait_at_most(kStandbyForkMax);
  return {};
}

}  // namespace

base::Result<std::unique_ptr<StandbyTemplate>> StandbyTemplate::start(NodeContext& node, Plan plan,
                                                                      Handlers handlers) {
  auto made = std::make_unique<TemplateImpl>(node, std::move(plan), std::move(handlers));
  RR_TRY(made->launch(node));
  return made;
}

}  // namespace robustrun::agent
