#include "agent/worker/control_socket.h"

#include <fmt/core.h>

#include <utility>

#include "agent/node/limits.h"

namespace robustrun::agent {

ControlSocket::ControlSocket(ControlState state, NoteHandler on_note, GiveMemory give_memory,
                             AwaitSaves await_saves, LeaveStore leave_store)
    : state_(std::move(state)),
      on_note_(std::move(on_note)),
      give_memory_(std::move(give_memory)),
      await_saves_(std::move(await_saves)),
      leave_store_(std::move(leave_store)) {}

base::Status ControlSocket::serve(const boost::asio::any_io_executor& executor,
                                  const std::string& path) {
  base::RequestSocket::Handlers handlers;
  handlers.on_message = [this](std::string_view message, const base::RequestSocket::Reply& reply) {
    if (await_saves_ && asks_for_saves(message)) {
      return await_saves_(
          [reply, answer = answer_control_message(message, state_)] { reply(answer, nullptr); });
    }
    const auto bytes = give_memory_ ? memory_wanted(message) : std::nullopt;
    if (!bytes) {
      const std::string answer = answer_control_message(message, state_);
      if (std::exchange(state_.own_store, false) && leave_store_) leave_store_();
      reply(answer, nullptr);
      for (wire::CheckpointNote& note : std::exchange(state_.notes, {})) {
        on_note_(std::move(note));
      }
      return;
    }
    give_memory_(*bytes, [reply](base::Result<GivenMemory> given) {
      if (!given) return reply(control_error(given.error().what), nullptr);
      if (!given->memory) return reply(memory_answer(0), nullptr);
      reply.with_descriptor(memory_answer(given->bytes), std::move(given->memory));
    });
  };
  handlers.too_long =
      control_error(fmt::format("a message has at most {} bytes", kControlMessageBytesMax));
  socket_ = RR_TRY(base::RequestSocket::open(
      executor, path, {kControlMessageBytesMax, kControlConnectionsMax, kControlMessageTime},
      std::move(handlers)));
  return {};
}

void ControlSocket::set_stop(wire::StopReason reason, base::Nanos deadline) {
  state_.stop_reason = reason;
  state_.stop_deadline = deadline;
}

base::Result<std::unique_ptr<ControlSocket>> ControlSocket::open(
    boost::asio::any_io_executor executor, const std::string& path, ControlState state,
    NoteHandler on_note, GiveMemory give_memory, AwaitSaves await_saves, LeaveStore leave_store) {
  std::unique_ptr<ControlSocket> socket(
      new ControlSocket(std::move(state), std::move(on_note), std::move(give_memory),
                        std::move(await_saves), std::move(leave_store)));
  RR_TRY(socket->serve(executor, path));
  return socket;
}

}  // namespace robustrun::agent
