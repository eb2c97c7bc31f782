#pragma once
// NCCL has one slot for a profiler plugin. Where NCCL would load another plugin (profiler_choice.h;
// clusters with NVIDIA's Inspector), ours takes the slot and calls the other one (tracer/nccl/
// behind.h), if the other one can be loaded here: a helper process (`robustrun agent --try-plugin`)
// loads it as NCCL would and prints the versions of the interface that it has. A trial that fails
// takes the slot from the plugin only if the plugin can work in no worker either; if it might work
// there (a library that it needs is found only later, say), it keeps the slot.
//
// Owned by the Preparation, on the agent's loop. A plugin is tried once, whatever the attempt,
// unless the trial may end differently the next time.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/node/node_context.h"
#include "agent/process/ask_program.h"
#include "agent/spawn/profiler_choice.h"
#include "base/core/result.h"

namespace robustrun::agent {

// The whole work of the helper: returns what it prints. Runs the plugin's constructors. `folder`:
// where a name without a slash is also looked for (interpreters_libraries()).
[[nodiscard]] std::string try_plugin(const std::string& name, const std::string& folder = {});

// Whether words of dlopen() for `candidate` say that this very file is missing or no library for
// this machine. Not so: what it needs is missing or too old. Pure.
[[nodiscard]] bool is_about_the_file(std::string_view words, std::string_view candidate);

// The machine that a library is built for ("aarch64"), from the first bytes of its file, if that is
// not this one; empty: this one, or no library. The loader calls such a file missing. Pure.
[[nodiscard]] std::string other_machine(std::string_view bytes);

// False: the helper could not be started, was killed, or did not end in time. Pure.
[[nodiscard]] bool is_settled(const base::Result<std::string>& answer);

// Parses what the helper printed, or says why it printed nothing. Pure.
[[nodiscard]] ProfilerShare read_plugin(const base::Result<std::string>& answer);

// The versions that our plugin shows to NCCL, beside one that has `theirs` (1 to 9 each): the same
// as far as ours has them, and those below its oldest, in which ours works alone. Pure.
[[nodiscard]] std::string versions_to_show(const std::vector<int>& theirs);

class ProfilerSlot {
 public:
  explicit ProfilerSlot(NodeContext& node) : node_(node) {}

  // Sets NodeContext::profiler for the workers of NodeContext::workers and calls `go`, at once if
  // there is nothing to try. A newer call replaces an older one, whose `go` is then not called.
  void find(std::function<void()> go);

 private:
  void on_answer(const ProfilerChoice& choice, const base::Result<std::string>& answer);
  void keep_out(const ProfilerChoice& choice);

  NodeContext& node_;
  std::string tried_;  // ProfilerChoice::source of NodeContext::profiler, if that is settled
  std::function<void()> go_;
  std::unique_ptr<AskedProgram> asked_;
};

}  // namespace robustrun::agent
