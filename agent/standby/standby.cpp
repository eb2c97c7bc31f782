#include "agent/standby/standby.h"

#include <unistd.h>

#include <utility>

#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "agent/process/priority.h"
#include "agent/process/processes.h"
#include "agent/spawn/worker_stream.h"
#include "base/io/log.h"

namespace robustrun::agent {
namespace {

// 'S', 'R', 'T'… of a process that its shim has not reaped; 0: not readable.
char state_letter(pid_t pid) {
  const auto text = base::read_file("/proc/" + std::to_string(pid) + "/stat", kProcStatusBytesMax);
  const std::size_t name_end = text ? text->rfind(") ") : std::string::npos;
  return name_end == std::string::npos || name_end + 2 >= text->size() ? '\0'
                                                                       : (*text)[name_end + 2];
}

}  // namespace

bool Standby::is_ready() const {
  if (!ready_ || !order_ || pid_ == 0) return false;
  // Neither stopped nor dead. A process that waits for a page of its memory is as good as any
  // other.
  const char state = state_letter(pid_);
  return state == 'S' || state == 'R' || state == 'D';
}

void Standby::kill() {
  order_ = nullptr;
  if (shim_) shim_->kill_tree();
}

base::Status Standby::launch(NodeContext& node) {
  base::RequestSocket::Handlers handlers;
  // The socket may outlive this object, with the worker.
  handlers.on_message = [self = std::weak_ptr(self_)](std::string_view message,
                                                      base::RequestSocket::Reply reply) {
    if (const auto standby = self.lock()) (*standby)->on_message(message, std::move(reply));
  };
  const std::string path = plan_.stem + ".sock";
  socket_ = RR_TRY(base::RequestSocket::open(
      node.executor, path, {kStandbyMessageBytesMax, 1, kControlMessageTime}, std::move(handlers)));
  base::FdPair out, err;
  if (is_captured(plan_.spawn.out)) out = RR_TRY(base::make_pipe());
  if (is_captured(plan_.spawn.err)) err = RR_TRY(base::make_pipe());
  out_ = std::move(out.first);
  err_ = std::move(err.first);
  cgroup_ = Cgroup::make("standby-" + node.workers.run_id, plan_.rank,
                         base::Attempt{static_cast<std::uint32_t>(plan_.serial)});
  Environment environment(plan_.spawn.environment);
  environment.set("ROBUSTRUN_STANDBY_SOCKET", path + ":" + plan_.modules);

  ShimOptions options = shim_options(node, plan_.spawn);
  options.environment = std::move(environment).take();
  options.out_fd = out.second.get();
  options.err_fd = err.second.get();
  if (cgroup_) options.cgroup = cgroup_->path();
  if (plan_.made == nullptr) {
    shim_ = RR_TRY(start_process(node, options, shim_handlers()));
  } else {
    const StandbyTemplate::Order order{options, path, plan_.changes};
    shim_ = RR_TRY(adopt_process(node, options, shim_handlers(),
                                 [&](int control) { return plan_.made->request(order, control); }));
  }
  patience_.after(kStandbyReadyMax, [this] {
    if (!ready_) kill();
  });
  return {};
}

ShimLink::Handlers Standby::shim_handlers() {
  ShimLink::Handlers handlers;
  handlers.on_started = [this](pid_t pid) {
    pid_ = pid;
    tell_ready();
  };
  handlers.on_start_failed = [](int, const std::string& what) {
    RR_LOG(kDebug, {}, "no standby worker: {}", what);
  };
  handlers.on_exited = [this](base::ExitStatus status, base::Nanos, bool) {
    RR_LOG(kDebug, {}, "a standby worker ended before it was needed: {}", base::describe(status));
    pid_ = 0;
    order_ = nullptr;
  };
  handlers.on_gone = [this](unsigned, const std::string&) {
    patience_.cancel();
    if (cgroup_) cgroup_->remove();
    if (const auto gone = std::exchange(handlers_.on_gone, nullptr)) gone();
  };
  return handlers;
}

void Standby::on_message(std::string_view message, base::RequestSocket::Reply reply) {
  auto ready = parse_ready(message);
  if (!ready || ready_) return kill();
  patience_.cancel();
  ready_ = *std::move(ready);
  order_ = std::move(reply);
  tell_ready();
}

// A forked standby may report its imports before its shim has reported its start.
void Standby::tell_ready() {
  if (!ready_ || pid_ == 0) return;
  if (const auto on_ready = handlers_.on_ready) on_ready(*ready_);
}

Standby::Taken Standby::take(const std::vector<std::string>& changes) {
  RR_ASSERT(order_ && pid_ != 0);
  std::string message;
  for (const std::string& change : changes) message.append(change).push_back('\0');
  // If the standby dies just now, the order is written in part or not at all; it then counts as a
  // worker that died.
  std::exchange(order_, nullptr)(std::move(message), nullptr);
  shim_->set_handlers({});
  return {std::move(shim_), std::move(socket_), std::move(cgroup_),
          std::move(out_),  std::move(err_),    pid_};
}

// The standby does the same after its imports. Where priorities may not be raised, none was
// lowered.
void Standby::hurry() {
  if (pid_ != 0) restore_priority(pid_);
}

ShimOptions shim_options(const NodeContext& node, const LaunchSpec& spawn) {
  ShimOptions options;
  options.shim = node.shim;
  options.argv = spawn.argv;
  options.environment = spawn.environment;
  options.working_directory = spawn.working_directory;
  options.in_fd = spawn.in_fd;
  options.cpus = spawn.cpus;
  options.memory = spawn.memory;
  options.container = spawn.container;
  return options;
}

base::Result<std::unique_ptr<Standby>> Standby::start(NodeContext& node, Plan plan,
                                                      Handlers handlers) {
  std::unique_ptr<Standby> standby(new Standby(node, std::move(plan), std::move(handlers)));
  RR_TRY(standby->launch(node));
  return standby;
}

}  // namespace robustrun::agent
