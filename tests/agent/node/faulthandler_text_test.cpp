// faulthandler's dumps, as CPython 3.6 to 3.13 write them.
#include "agent/node/faulthandler_text.h"

#include <doctest/doctest.h>

#include "agent/node/limits.h"

namespace robustrun::agent::faulthandler_text_test {
namespace {

using tracer::Frame;

const std::string kDump =
    "Thread 0x00007f637d5f86c0 (most recent call first):\n"
    "  File \"/job/loader.py\", line 4 in \\xfcnamed\n"
    "  File \"/usr/lib/python3.11/threading.py\", line 1002 in _bootstrap\n"
    "\n"
    "Thread 0x00007f637ddf96c0 (most recent call first):\n"
    "  <no Python frame>\n"
    "\n"
    "Current thread 0x00007f637ec76b80 (most recent call first):\n"
    "  Garbage-collecting\n"
    "  File \"/job/train, line 1 in x.py\", line 87 in step\n"
    "  File ???, line ??? in ???\n"
    "  File \"/job/train.py\", line 13 in <module>\n";

TEST_CASE("the main thread is the last of a dump and comes first") {
  const StackDump dump = parse_faulthandler(kDump);
  REQUIRE(dump.stacks.size() == 3);
  CHECK_FALSE(dump.cut);
  CHECK(dump.stacks[0].is_main);
  CHECK_FALSE(dump.stacks[1].is_main);
  CHECK(dump.stacks[0].thread == "0x7f637ec76b80");
  CHECK(dump.idents == std::vector<std::uint64_t>{0x7f637ec76b80, 0x7f637d5f86c0, 0x7f637ddf96c0});
  CHECK(dump.stacks[1].frames ==
        std::vector<Frame>{{"\\xfcnamed", "/job/loader.py", 4},
                           {"_bootstrap", "/usr/lib/python3.11/threading.py", 1002}});
  CHECK(dump.stacks[2].frames.empty());
  CHECK(main_stack(dump.stacks) == &dump.stacks[0]);
  CHECK_FALSE(dump.stacks[0].is_native);
  REQUIRE(dump.stacks[0].frames.size() == 3);
  CHECK(dump.stacks[0].frames[1] == Frame{"???", "", 0});
  CHECK(dump.stacks[0].frames[2] == Frame{"<module>", "/job/train.py", 13});
}

TEST_CASE("a file's name may look like the rest of its line") {
  const StackDump dump = parse_faulthandler(kDump);
  CHECK(dump.stacks.at(0).frames.at(0) == Frame{"step", "/job/train, line 1 in x.py", 87});
}

TEST_CASE("the last of several dumps counts, also when the text begins within the first") {
  const std::string older = kDump.substr(kDump.find("  File"));
  std::string newer = kDump;
  newer.replace(newer.find("line 87"), 7, "line 88");
  const StackDump dump = parse_faulthandler(older + kDump + newer);
  REQUIRE(dump.stacks.size() == 3);
  CHECK(dump.stacks[0].frames.at(0).line == 88);
  CHECK(dump.stacks[1].frames.size() == 2);
}

TEST_CASE("in a dump that was cut no thread is taken for the main one") {
  const StackDump dump = parse_faulthandler(kDump.substr(0, kDump.find("Current")) + "...\n");
  REQUIRE(dump.stacks.size() == 2);
  CHECK(dump.cut);
  CHECK(main_stack(dump.stacks) == nullptr);
  const StackDump after =
      parse_faulthandler(kDump.substr(0, kDump.find("Current")) + "...\n" + kDump);
  CHECK((!after.cut && after.stacks.size() == 3));
}

TEST_CASE("the name that Python 3.14 gives with a thread does not hide it") {
  const StackDump dump = parse_faulthandler(
      "Thread 0x00007f01 [pt_data_pin] (most recent call first):\n"
      "  File \"a\", line 1 in f\n");
  REQUIRE(dump.stacks.size() == 1);
  CHECK(dump.idents[0] == 0x7f01);
}

TEST_CASE("a dump ends with its main thread's script") {
  CHECK(ends_like_dump(kDump));
  CHECK_FALSE(ends_like_dump(""));
  CHECK_FALSE(ends_like_dump(kDump.substr(0, kDump.size() - 1)));
  CHECK_FALSE(ends_like_dump(kDump.substr(0, kDump.find("Current"))));
  CHECK_FALSE(ends_like_dump(kDump.substr(0, kDump.rfind("  File"))));
  // Another thread took the signal: more may come.
  CHECK_FALSE(ends_like_dump(kDump + "\nThread 0x01 (most recent call first):\n" +
                             "  File \"a\", line 1 in <module>\n"));
}

TEST_CASE("nonsense is no dump") {
  for (const std::string text :
       {"", "\n\n", "...", "  File \"a\", line 1 in f\n", "Thread 0x (most recent call first):\n",
        "Thread 0xzz (most recent call first):\n", "Thread 0x12(most recent call first):",
        "Thread 0xfffffffffffffffff1 (most recent call first):\n"}) {
    CHECK(parse_faulthandler(text).stacks.empty());
  }
  const StackDump dump = parse_faulthandler(
      "Thread 0x1 (most recent call first):\n  File \"a\", line in\n  File \"a\", line 1\n"
      "  File , line 5 in f\n  File \"\", line 99999999999 in f\n File \"a\", line 1 in f\n");
  REQUIRE(dump.stacks.size() == 1);
  CHECK(dump.stacks[0].frames == std::vector<Frame>{{"f", "", 5}, {"f", "", 0}});
}

TEST_CASE("limits: threads, frames, names, and all together; the main thread has room first") {
  std::string text;
  for (unsigned i = 1; i <= kStackThreadsMax + 5; ++i) {
    text += "\nThread 0x" + std::to_string(i) + " (most recent call first):\n";
    for (unsigned j = 0; j <= kStackFramesMax; ++j) {
      text += "  File \"" + std::string(600, 'd') + std::to_string(j) + "\", line 1 in " +
              std::string(600, 'f') + "\n";
    }
  }
  const StackDump dump = parse_faulthandler(text);
  CHECK(dump.stacks.size() == kStackThreadsMax);
  CHECK(dump.stacks[0].thread == "0x" + std::to_string(kStackThreadsMax + 5));
  CHECK(dump.stacks[0].frames.size() == kStackFramesMax);
  CHECK(dump.stacks[0].frames[3].file.size() == kStackNameBytesMax);
  CHECK(dump.stacks[0].frames[3].file.ends_with("d3"));
  CHECK(dump.stacks[0].frames[3].function.size() == kStackNameBytesMax);
  std::size_t bytes = 0;
  for (const auto& stack : dump.stacks) {
    for (const Frame& frame : stack.frames) bytes += frame.function.size() + frame.file.size();
  }
  CHECK(bytes == kStackBytesMax);
}

}  // namespace
}  // namespace robustrun::agent::faulthandler_text_test
