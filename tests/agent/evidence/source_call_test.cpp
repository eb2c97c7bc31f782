#include "agent/evidence/source_call.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

#include "agent/node/limits.h"
#include "tests/scratch_folder.h"

namespace robustrun::agent::source_call_test {
namespace {

TEST_CASE("the call that may wait for a peer is found in its line") {
  CHECK(call_in("    dist.recv(buffer, src=rank - 1)  # from the left") ==
        "dist.recv(buffer, src=rank - 1)");
  CHECK(call_in("for r in requests: r.wait()") == "r.wait()");
  CHECK(call_in("requests[0].wait()") == "requests[0].wait()");
  CHECK(call_in("x = f(dist.irecv(t, 3).wait())") == "dist.irecv(t, 3)");
  CHECK(call_in("reqs = torch.distributed.batch_isend_irecv(ops)") ==
        "torch.distributed.batch_isend_irecv(ops)");
}

TEST_CASE("other lines have none, and quoted text is never shown") {
  for (const char* line : {"", "time.sleep(1000)", "waiter(x)", "send = 3", "# receive", "(((",
                           "login(token=\"abc\")"}) {
    CAPTURE(line);
    CHECK(call_in(line).empty());
  }
  CHECK(call_in("dist.send(t, dst=ranks['secret'])") == "dist.send(...)");
  CHECK(call_in("dist.recv(") == "dist.recv(...)");
  const std::string call = call_in("dist.send(" + std::string(500, 'x') + ")");
  CHECK(call == "dist.send(...)");
  CHECK(call_in(std::string(500, 'y') + ".wait()").size() <= kCallBytesMax + 5);
}

TEST_CASE("the line is read from the file that the innermost frame outside torch names") {
  const test::ScratchFolder folder;
  const std::string path = folder.write("p2p.py", "import x\n\ndist.recv(t, src=0)\n");
  tracer::ThreadStack stack;
  stack.frames = {{"recv", "/x/torch/distributed/distributed_c10d.py", 9}, {"<module>", path, 3}};
  add_call(::getpid(), stack);
  CHECK(stack.frames[0].call.empty());
  CHECK(stack.frames[1].call == "dist.recv(t, src=0)");
  for (const auto& [file, line] :
       {std::pair(path, 1U), std::pair(path, 99U), std::pair(std::string("/dev/zero"), 1U),
        std::pair(std::string("/no/such/file"), 1U), std::pair(std::string("<string>"), 1U)}) {
    CAPTURE(file);
    stack.frames = {{"f", file, line}};
    add_call(::getpid(), stack);
    CHECK(stack.frames[0].call.empty());
  }
}

}  // namespace
}  // namespace robustrun::agent::source_call_test
