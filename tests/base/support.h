#pragma once
// Shared by the tests of base/ and wire/: a scratch folder, and waiting with a deadline.

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>

#include "tests/support/scratch.h"

namespace robustrun::test {

inline constexpr std::chrono::seconds kDeadline{60};

// Runs the loop until `condition` holds; false when the deadline passed.
template <class Condition>
bool run_until(boost::asio::io_context& loop, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    loop.restart();
    loop.run_one_for(std::chrono::milliseconds(10));
  }
  return true;
}

// Polls `condition`, for changes without an event.
template <class Condition>
bool wait_until(Condition condition) {
  boost::asio::io_context idle;
  const auto guard = boost::asio::make_work_guard(idle);
  return run_until(idle, condition);
}

}  // namespace robustrun::test
