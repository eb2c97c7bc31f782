#pragma once
// Decides which plugin gets NCCL's one slot for a profiler plugin. If NCCL would load another
// plugin (profiler_choice.h), for example NVIDIA's Inspector, a trial decides: a helper process
// (`robustrun agent --try-plugin`) loads that plugin as NCCL would, and prints which versions of
// NCCL's interface the plugin has. If the trial succeeds, robustrun's plugin takes the slot and
// calls the other one (tracer/nccl/behind.h). If it fails and the other plugin cannot work in any
// worker, robustrun's plugin takes the slot alone. If the other plugin might still work in a
// worker, it keeps the slot: a library that it needs may be found only there.
//
// Owned by the Preparation, on the agent's loop. Later attempts do not repeat the trial of a
// plugin, unless its outcome may change (is_settled()).

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

// The work of the helper process: returns the text that it prints. Runs the plugin's constructors.
// `folder`: a name without a slash is looked for there, too (interpreters_libraries()).
[[nodiscard]] std::string try_plugin(const std::string& name, const std::string& folder = {});

// Whether dlopen()'s error text `words` says that the file `candidate` itself is missing or is no
// library for this machine. False: for example, another library that it needs is missing. Pure.
[[nodiscard]] bool is_about_the_file(std::string_view words, std::string_view candidate);

// The architecture of a library that is built for another one than this machine's ("aarch64");
// empty for other files. `bytes`: the beginning of the file, 20 bytes or more. For an error
// message: the loader calls such a file missing. Pure.
[[nodiscard]] std::string other_machine(std::string_view bytes);

// Whether another trial would end the same way. False: the helper could not be started, was killed,
// or did not end in time. Pure.
[[nodiscard]] bool is_settled(const base::Result<std::string>& answer);

// The share that follows from the helper's output, or from its failure. Pure.
[[nodiscard]] ProfilerShare read_plugin(const base::Result<std::string>& answer);

// The versions of NCCL's interface that our plugin shows to NCCL if it calls a plugin with the
// versions `theirs` (1 to 9 each): those that both have, and those older than all of `theirs`, in
// which ours works alone. Empty if `theirs` is. Pure.
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
  std::string tried_;  // `source` of the choice behind NodeContext::profiler; empty: not settled
  std::function<void()> go_;
  std::unique_ptr<AskedProgram> asked_;
};

}  // namespace robustrun::agent
