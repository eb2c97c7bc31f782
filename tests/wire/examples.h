#pragma once
// One message of every kind, with a non-default value in every member: tests/golden/wire-v1 holds
// their bytes, and fuzzers and round trips start from them.

#include <string>
#include <vector>

#include "wire/messages/messages.h"

namespace robustrun::test {

struct Example {
  const char* name;  // of the message in robustrun.proto
  const char* file;  // in tests/golden/wire-v1; a new one when a message has got new members
  wire::Message message;
};

std::vector<Example> example_messages();
std::vector<Example> example_standby_messages();  // a part of these, as are the next
std::vector<Example> example_copy_messages();
// Those of a connection's beginning, which are signed.
wire::Enrol example_enrol();
wire::Enrolled example_enrolled();

}  // namespace robustrun::test
