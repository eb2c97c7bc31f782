#include "supervisor/driver/run_end.h"

#include <utility>

namespace robustrun::supervisor {

RunEnd::RunEnd(const boost::asio::any_io_executor& executor, const Times& times, Hands hands)
    : times_(times), hands_(std::move(hands)), timer_(executor) {}

bool RunEnd::begin(int exit_code) {
  if (std::exchange(is_over_, true)) return false;
  exit_code_ = exit_code;
  return true;
}

void RunEnd::wait_for_agents() {
  if (hands_.are_agents_gone()) return say_goodbye();
  timer_.after(times_.before_kill, [this] {
    hands_.kill_agents();
    timer_.after(times_.after_kill, [this] { say_goodbye(); });
  });
}

void RunEnd::on_agent_left() {
  if (is_over_ && hands_.are_agents_gone()) say_goodbye();
}

void RunEnd::say_goodbye() {
  if (std::exchange(said_goodbye_, true)) return;
  timer_.cancel();
  hands_.flush([this] { hands_.on_finished(exit_code_); });
}

}  // namespace robustrun::supervisor
